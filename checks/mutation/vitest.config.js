import { defineConfig } from "vitest/config";
import { BaseSequencer } from "vitest/node";
import { rooms } from "./rooms.js";

const include = process.env.MUTATION_TESTS?.split(",") ?? rooms[process.env.MUTATION_ROOM].tests;
const needsPostgres = include.some((one) => one.includes("packages/host") && /\*|\.database\./.test(one));

/** The first failure ends a run, so what is quick comes first; vitest would begin with what takes longest. */
class QuickFirst extends BaseSequencer {
  async sort(files) {
    // oxlint-disable-next-line unicorn/no-array-sort -- not an array's
    return (await super.sort(files)).toReversed();
  }
}

/** Stryker counts tests alone, of which a file has none when it cannot be loaded: that is an error, and not unnoticed. */
const unloadedFiles = {
  onInit(vitest) {
    this.state = vitest.state;
  },
  onTestModuleEnd(file) {
    for (const { message } of file.errors()) this.state.catchError(new Error(message), "Unloaded File");
  },
};

// The tests of one room, as one project. Stryker changes a copy of the repository, which is the working directory.
export default defineConfig({
  test: {
    root: process.cwd(),
    include,
    exclude: ["**/node_modules/**", "**/dist/**", "**/*.fuzz.test.ts", "**/*.e2e.test.ts"],
    testTimeout: 60_000,
    isolate: false,
    sequence: { sequencer: QuickFirst },
    reporters: ["default", unloadedFiles],
    setupFiles: ["tests/support/real-timers.ts", "tests/support/seed.ts"],
    ...(needsPostgres && { globalSetup: ["packages/host/test/postgres-server.ts"] }),
  },
});
