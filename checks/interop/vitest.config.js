import { defineConfig } from "vitest/config";
import { patience } from "../../scripts/patience.js";

export default defineConfig({
  test: {
    root: import.meta.dirname,
    include: ["*.test.js"],
    ...patience,
    // Foreign programs say much that is of no use while all goes well.
    silent: "passed-only",
    reporters: ["default", "../../scripts/closing-line.js"],
  },
});
