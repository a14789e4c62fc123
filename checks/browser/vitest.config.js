import { join } from "node:path";
import { defineConfig } from "vitest/config";
import { patience } from "../../scripts/patience.js";

export default defineConfig({
  test: {
    root: join(import.meta.dirname, "../.."),
    include: ["checks/browser/*.test.js"],
    ...patience,
    // One browser and one host a file; two files at once fill two cores.
    maxWorkers: 2,
    reporters: ["default", "./scripts/closing-line.js"],
  },
});
