import { defineConfig } from "vitest/config";
import { longPatience } from "../../scripts/patience.js";

export default defineConfig({
  test: {
    root: import.meta.dirname,
    include: ["*.test.js"],
    ...longPatience,
    reporters: ["default", "../../scripts/closing-line.js"],
  },
});
