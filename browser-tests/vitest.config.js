import { join } from "node:path";
import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    root: join(import.meta.dirname, ".."),
    include: ["browser-tests/*.test.js", "docs-site/*.test.js"],
    testTimeout: 180_000,
    hookTimeout: 180_000,
    // One browser and one host a file; two files at once fill two cores.
    maxWorkers: 2,
    reporters: ["default", "./scripts/closing-line.js"],
  },
});
