// What `retry` is for.
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";

/** True the first time that it is asked about `name` in this run. */
function firstTime(name) {
  const marker = join(process.env.FLAKEWISE_MARKERS, name);
  if (existsSync(marker)) {
    return false;
  }
  writeFileSync(marker, "");
  return true;
}

describe("retries", { retry: 2 }, () => {
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
});
