import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["tests/**/*.test.js"],
    reporters: [
      // As it comes, and with the options that change what a reader sees.
      ["junit", { outputFile: "report.xml" }],
      [
        "junit",
        {
          outputFile: "file-attribute.xml",
          addFileAttribute: true,
          classnameTemplate: "acme:{filename}",
          suiteName: "acme orders",
        },
      ],
    ],
  },
});
