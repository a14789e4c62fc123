import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { patience } from "./scripts/patience.js";

// What a test needs is in its name: nothing (x.test.ts), minutes (x.fuzz.test.ts), a PostgreSQL (x.database.test.ts), or
// processes (x.e2e.test.ts).
const fuzz = ["**/*.fuzz.test.ts"];
const database = ["**/*.database.test.ts"];
const e2e = ["**/*.e2e.test.ts", "tests/host/**/*.test.ts"];
const exclude = ["**/node_modules/**", "**/dist/**", "**/.build/**", "tests/fixtures/**", "generator-tests/**"];

/** Percent of a room's branches that its tests take at least. `cli` and `demo` run as processes, where nobody counts. */
const testedBranches = {
  "{contracts,internal}": 98,
  kernel: 98,
  runtime: 98,
  http: 98,
  client: 97,
  testing: 90,
  compose: 86,
  protocols: 88,
  front: 86,
  access: 94,
  live: 85,
  turns: 89,
  retention: 85,
  grants: 92,
  audit: 92,
  escalations: 95,
  messages: 98,
  files: 96,
  "tool-namespaces": 83,
  "mcp-servers": 85,
  management: 60,
  ledger: 94,
  storage: 92,
  observe: 77,
  base: 98,
};

const globalSetup = [pathOf("packages/host/test/postgres-server.ts")];

export default defineConfig({
  test: {
    ...patience,
    // Two more than vitest would take: most tests wait for processes and databases.
    maxWorkers: availableParallelism() + 1,
    // Many files a process: loading the host anew takes longer than many of them. Not threads, because some tests measure the
    // processor time of their process or set its umask.
    isolate: false,
    setupFiles: [pathOf("tests/support/real-timers.ts"), pathOf("tests/support/seed.ts")],
    reporters: ["default", pathOf("scripts/closing-line.js")],
    coverage: {
      include: ["**/src/**/*.ts"],
      exclude: ["**/*.test.ts", "tests/fixtures/**"],
      reporter: ["text-summary", "html"],
      thresholds: Object.fromEntries(
        Object.entries(testedBranches).map(([room, branches]) => [`**/src/${room}/**`, { branches }]),
      ),
    },
    // Vitest starts them in the order of their names, so the many short files of unit fill both cores at the end.
    projects: [
      {
        extends: true,
        test: {
          name: "unit",
          include: ["**/*.test.ts"],
          exclude: [...exclude, ...fuzz, ...database, ...e2e],
        },
      },
      { extends: true, test: { name: "fuzz", include: fuzz, exclude, testTimeout: 1_200_000 } },
      { extends: true, test: { name: "database", include: database, exclude, globalSetup } },
      {
        extends: true,
        test: {
          name: "e2e",
          include: e2e,
          exclude,
          globalSetup,
          setupFiles: [pathOf("tests/support/clean-up.ts")],
        },
      },
    ],
  },
});

/** Absolute, so that the configuration also serves from the folder of a package. */
function pathOf(file: string): string {
  return fileURLToPath(new URL(file, import.meta.url));
}
