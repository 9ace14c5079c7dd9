// Cannot be loaded, so that the file as a whole fails.
import { test } from "vitest";
import "./no-such-module.js";

test("never collected", () => {
  // Never found, as the import above fails.
});
