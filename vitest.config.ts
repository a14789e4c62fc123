import { defineConfig } from "vitest/config";

export default defineConfig({
  test: {
    include: ["packages/*/{src,test}/**/*.test.ts", "tests/**/*.test.ts"],
    exclude: ["**/node_modules/**", "**/dist/**", "tests/fixtures/**"],
    // Room for a busy machine: no test measures time, so a test that takes this long hangs.
    testTimeout: 60_000,
    hookTimeout: 60_000,
    globalSetup: ["packages/host/test/postgres-server.ts"],
    reporters: ["default", "./scripts/closing-line.js"],
  },
});
