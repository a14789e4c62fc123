import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    root: import.meta.dirname,
    include: ["*.test.js"],
    testTimeout: 300_000,
    reporters: ["default", "../../scripts/closing-line.js"],
  },
});
