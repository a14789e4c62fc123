import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { LongestFirst } from "./scripts/longest-first.js";
import { databasePatience, longPatience, patience, unitPatience } from "./scripts/patience.js";

// What a test needs is in its name: nothing (x.test.ts), minutes (x.fuzz.test.ts), a database (x.database.test.ts, or
// x.sqlite.test.ts for one alone), databases that fail at each of their statements (x.faults.test.ts), or processes
// (x.e2e.test.ts). Those with a database run in two projects, one for each kind; those of protocols in one.
// The tables of x.protocols.test.ts run in two projects as well: `unit` tries the first model protocol, `protocols` the others.
const protocols = ["**/*.protocols.test.ts"];
// Those of x.properties.test.ts too: `unit` tries each property a few times, `fuzz` thousands of times.
const properties = ["**/*.properties.test.ts"];
const fuzz = ["**/*.fuzz.test.ts"];
const sqlite = ["**/*.sqlite.test.ts"];
const database = ["**/*.database.test.ts"];
const faults = ["**/*.faults.test.ts"];
const e2e = ["**/*.e2e.test.ts", "tests/host/*.test.ts"];
const exclude = ["**/node_modules/**", "**/dist/**", "**/.build/**", "tests/support/fixtures/**", "checks/**"];

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
  people: 85,
  access: 94,
  events: 85,
  turns: 89,
  retention: 85,
  grants: 92,
  audit: 92,
  escalations: 95,
  messages: 98,
  files: 96,
  "tool-namespaces": 83,
  "mcp-servers": 85,
  "agent-hooks": 95,
  "admin-contract": 60,
  ledger: 94,
  storage: 92,
  telemetry: 77,
  shared: 98,
};

const postgres = [pathOf("packages/host/test/postgres-server.ts")];

export default defineConfig({
  test: {
    ...patience,
    // Two more than vitest would take: most tests wait for processes and databases.
    maxWorkers: availableParallelism() + 1,
    // Many files a process: loading the host anew takes longer than many of them. Not threads, because some tests measure the
    // processor time of their process or set its umask.
    isolate: false,
    sequence: { sequencer: LongestFirst },
    globalSetup: [pathOf("scripts/test-folder.js")],
    setupFiles: [pathOf("tests/support/real-timers.ts"), pathOf("tests/support/seed.ts")],
    reporters: ["default", pathOf("scripts/closing-line.js")],
    coverage: {
      include: ["**/src/**/*.ts"],
      exclude: ["**/*.test.ts", "tests/support/fixtures/**"],
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
          ...unitPatience,
          name: "unit",
          include: ["**/*.test.ts"],
          exclude: [...exclude, ...fuzz, ...database, ...sqlite, ...faults, ...e2e],
          env: { TEST_PROTOCOLS: "first" },
        },
      },
      {
        extends: true,
        test: { name: "protocols", include: protocols, exclude, env: { TEST_PROTOCOLS: "others" } },
      },
      {
        extends: true,
        test: {
          name: "fuzz",
          include: [...fuzz, ...properties],
          exclude,
          testTimeout: 1_200_000,
          // What a commit must pass asks for small ones.
          env: { TEST_SIZE: process.env["TEST_SIZE"] ?? "large" },
        },
      },
      {
        extends: true,
        test: {
          ...databasePatience,
          name: "sqlite",
          include: [...database, ...sqlite],
          exclude,
          env: { TEST_DATABASES: "sqlite" },
        },
      },
      {
        extends: true,
        test: {
          ...databasePatience,
          name: "postgres",
          include: database,
          // Protocols do the same on every database. Every command runs on PostgreSQL in tests/host/commands.test.ts.
          exclude: [...exclude, "packages/host/src/protocols/**"],
          env: { TEST_DATABASES: "postgres" },
          globalSetup: postgres,
        },
      },
      { extends: true, test: { ...longPatience, name: "faults", include: faults, exclude, globalSetup: postgres } },
      {
        extends: true,
        test: {
          name: "e2e",
          include: e2e,
          exclude,
          globalSetup: postgres,
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
