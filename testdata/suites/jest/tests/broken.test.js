// Cannot be loaded, so that the file as a whole fails.
require("./no-such-module.js");

test("never collected", () => {
  // Never found, as the line above throws.
});
