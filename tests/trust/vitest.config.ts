import { defineConfig } from "vitest/config";
import { repository } from "../support/repository.ts";

const isWhole = process.env["TRUST_ONLY"] === undefined;

// The long run has no limits of time but its own, and one suite runs after the other.
export default defineConfig({
  test: {
    root: repository,
    include: [...(isWhole ? ["tests/trust/beneath/planted-bugs-run.ts"] : []), "tests/trust/long-run.ts"],
    fileParallelism: false,
    testTimeout: 0,
    setupFiles: ["tests/support/seed.ts", "tests/support/clean-up.ts"],
    globalSetup: ["packages/host/test/postgres-server.ts"],
    reporters: ["default", "scripts/closing-line.js"],
  },
});
