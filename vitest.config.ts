import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["packages/*/src/**/*.test.ts", "tests/**/*.test.ts"],
    exclude: ["**/node_modules/**", "**/dist/**", "tests/fixtures/**"],
    globalSetup: ["tests/support/postgres-server.ts"],
    reporters: ["default", "./scripts/closing-line.js"],
  },
});
