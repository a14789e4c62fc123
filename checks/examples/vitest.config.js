import { defineConfig } from "vitest/config";
import { patience } from "../../scripts/patience.js";

export default defineConfig({
  test: {
    root: import.meta.dirname,
    include: ["*.test.js"],
    ...patience,
    reporters: ["default", "../../scripts/closing-line.js"],
  },
});
