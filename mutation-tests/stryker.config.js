const room = process.env.MUTATION_ROOM;
const report = `.build/mutation/${room}`;

/** @type {import("@stryker-mutator/api/core").PartialStrykerOptions} */
export default {
  testRunner: "vitest",
  vitest: { configFile: "mutation-tests/vitest.config.js", related: false },
  mutate: process.env.MUTATION_FILES.split(","),
  // Everything else is copied.
  ignorePatterns: [".build", "/docs", "/docs-site", "/examples", "/deploy", "/injections", "/generator-tests"],
  // A file that is not there: Stryker would rewrite the paths of a tsconfig, by an interface that TypeScript 7 does not have.
  tsconfigFile: "no-tsconfig.json",
  coverageAnalysis: "perTest",
  concurrency: Number(process.env.MUTATION_CONCURRENCY),
  timeoutMS: 60_000,
  dryRunTimeoutMinutes: 30,
  incremental: true,
  incrementalFile: `${report}-incremental.json`,
  tempDirName: ".build/mutation/sandbox",
  reporters: ["clear-text", "json", "progress-append-only"],
  clearTextReporter: { allowColor: false, reportTests: false, logTests: false },
  jsonReporter: { fileName: `${report}.json` },
  packageManager: "npm",
  allowConsoleColors: false,
  disableTypeChecks: false,
};
