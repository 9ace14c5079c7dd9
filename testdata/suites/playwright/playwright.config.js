const { defineConfig } = require("@playwright/test");

module.exports = defineConfig({
  testDir: "tests",
  workers: 2,
  // Two projects run the same tests, as a browser matrix would; the second
  // keeps to the retries, so that the report stays small.
  projects: [{ name: "first" }, { name: "second project", testMatch: "retries.spec.js" }],
  reporter: [
    // As it comes, and with the options that change what a reader sees.
    ["junit", { outputFile: "report.xml" }],
    [
      "junit",
      {
        outputFile: "with-retries.xml",
        includeProjectInTestName: true,
        includeRetries: true,
        stripANSIControlSequences: true,
      },
    ],
  ],
});
