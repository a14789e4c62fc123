import { defineConfig } from "vitest/config";
import { patience } from "../../scripts/patience.js";

export default defineConfig({
  test: {
    root: import.meta.dirname,
    include: ["*.test.ts"],
    globalSetup: ["./generate.js"],
    // One demo answers all of them, and each takes a short time.
    fileParallelism: false,
    ...patience,
    reporters: ["default", "../../scripts/closing-line.js"],
  },
});
