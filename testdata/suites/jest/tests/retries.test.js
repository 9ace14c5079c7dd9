// What jest.retryTimes is for.
const { existsSync, writeFileSync } = require("node:fs");
const { join } = require("node:path");

jest.retryTimes(2);

/** True the first time that it is asked about `name` in this run. */
function firstTime(name) {
  const marker = join(process.env.FLAKEWISE_MARKERS, name);
  if (existsSync(marker)) {
    return false;
  }
  writeFileSync(marker, "");
  return true;
}

test("passes on retry", () => {
  // Fails on the first attempt and passes on the second.
  expect(firstTime("passes-on-retry")).toBe(false);
});

test("fails on every attempt", () => {
  // No number of retries helps.
  throw new Error("fails on every attempt");
});
