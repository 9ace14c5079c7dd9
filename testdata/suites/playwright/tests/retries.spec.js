// What `retries` is for.
const { existsSync, writeFileSync } = require("node:fs");
const { join } = require("node:path");
const { expect, test } = require("@playwright/test");

test.describe.configure({ retries: 2 });

/** True the first time that it is asked about `name` in this project. */
function firstTime(name) {
  const marker = join(process.env.FLAKEWISE_MARKERS, `${test.info().project.name}-${name}`);
  if (existsSync(marker)) {
    return false;
  }
  writeFileSync(marker, "");
  return true;
}

test("passes on retry", () => {
  // Fails on the first attempt and passes on the second.
  const first = firstTime("passes-on-retry");
  console.log(`first attempt: ${first}`);
  expect(first, "failed on the first attempt").toBe(false);
});

test("fails on every attempt", () => {
  // No number of retries helps.
  console.log("one more attempt");
  throw new Error("fails on every attempt");
});

test("fails differently each time", () => {
  // First a failed expectation, and from then on another error.
  expect(firstTime("fails-differently"), "first a failure").toBe(false);
  throw new Error("then an error");
});
