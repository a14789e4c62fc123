// Changes the sources one place at a time and runs the tests that reach it:
// npm run mutation -- kernel                     a whole room, for hours
// npm run mutation -- kernel match.ts chain.ts   some of its files
// npm run mutation -- kernel --share 10          a tenth of a room, drawn at random (--seed draws others)
// npm run mutation -- kernel match.ts --tests packages/turnpike/src/kernel/match.test.ts
import { spawnSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { basename } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { judge, summaryOf } from "./judge.js";
import { rooms } from "./rooms.js";

process.chdir(fileURLToPath(new URL("../..", import.meta.url)));

const {
  positionals: [name, ...names],
  values,
} = parseArgs({
  allowPositionals: true,
  options: {
    concurrency: { type: "string", default: "1" },
    /** Percent of all changes. */
    share: { type: "string" },
    seed: { type: "string", default: "1" },
    /** Instead of all tests of the room, for a first run; a run without it tries again what these miss. */
    tests: { type: "string" },
    /** `sqlite` leaves out what needs a PostgreSQL where a test runs on both, in the same way, and sources for it alone. */
    databases: { type: "string" },
  },
});
const room = rooms[name];
if (room === undefined) {
  console.error(`Say which room: ${Object.keys(rooms).join(", ")}; then, if you like, which of its files.`);
  process.exit(2);
}
if (values.share !== undefined && !(Number(values.share) > 0 && Number(values.share) <= 100)) {
  console.error(`--share takes percent, such as 10; found ${values.share}`);
  process.exit(2);
}

const files = (names.length > 0 ? names : sourcesIn(room)).map((file) => `${room.sources}/${file}`);
const { status } = spawnSync(
  process.execPath,
  ["checks/node_modules/@stryker-mutator/core/bin/stryker.js", "run", "checks/mutation/stryker.config.js"],
  {
    stdio: "inherit",
    env: {
      ...process.env,
      MUTATION_ROOM: name,
      MUTATION_FILES: files.join(","),
      MUTATION_CONCURRENCY: values.concurrency,
      MUTATION_SEED: values.seed,
      ...(values.share && { MUTATION_SHARE: values.share }),
      ...(values.tests && { MUTATION_TESTS: values.tests }),
      ...(values.databases && { TEST_DATABASES: values.databases }),
    },
  },
);
if (status !== 0) process.exit(status ?? 1);

const report = JSON.parse(readFileSync(`.build/mutation/${name}.json`, "utf8"));
const reasons = JSON.parse(readFileSync("checks/mutation/survivors.json", "utf8"));
// Of a whole room, files of types alone are not in the report.
const seen = names.length > 0 ? files : files.filter((file) => file in report.files);
const problems = judge(report, seen, reasons);
console.log(summaryOf(report, seen));
for (const problem of problems) console.error(problem);
process.exitCode = problems.length > 0 ? 1 : 0;

function sourcesIn({ sources, isSource = (file) => file.endsWith(".ts"), isDescription }) {
  const isReached = (file) => values.databases !== "sqlite" || !basename(file).startsWith("postgres-");
  return readdirSync(sources, { recursive: true }).filter(
    (file) =>
      isSource(file) &&
      !file.endsWith(".test.ts") &&
      !file.endsWith("index.ts") &&
      !isDescription?.(file) &&
      isReached(file),
  );
}
