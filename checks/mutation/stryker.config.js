const room = process.env.MUTATION_ROOM;
const report = `.build/mutation/${room}`;
const share = process.env.MUTATION_SHARE;
const sample = share === undefined ? "" : `-${share}-${process.env.MUTATION_SEED}`;

/** @type {import("@stryker-mutator/api/core").PartialStrykerOptions} */
export default {
  testRunner: "vitest",
  vitest: { configFile: "checks/mutation/vitest.config.js", related: false },
  mutate: process.env.MUTATION_FILES.split(","),
  plugins: ["@stryker-mutator/vitest-runner", "./checks/mutation/sample.js"],
  checkers: share === undefined ? [] : ["sample"],
  // Everything else is copied.
  ignorePatterns: [".build", "/docs", "/examples", "/deploy", "/checks/injections", "/checks/generators"],
  // A file that is not there: Stryker would rewrite the paths of a tsconfig, by an interface that TypeScript 7 does not have.
  tsconfigFile: "no-tsconfig.json",
  coverageAnalysis: "perTest",
  concurrency: Number(process.env.MUTATION_CONCURRENCY),
  timeoutMS: 60_000,
  dryRunTimeoutMinutes: 30,
  incremental: true,
  incrementalFile: `${report}${sample}-incremental.json`,
  tempDirName: ".build/mutation/sandbox",
  reporters: ["clear-text", "json", "progress-append-only"],
  clearTextReporter: { allowColor: false, reportTests: false, logTests: false },
  jsonReporter: { fileName: `${report}.json` },
  packageManager: "npm",
  allowConsoleColors: false,
  disableTypeChecks: false,
};
