// Runs the named benchmarks, or all of them: npm run bench -- host --quick. All of them write bench/results.md anew.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

process.chdir(fileURLToPath(new URL("..", import.meta.url)));

/** In the order in which they are run and shown. */
const benchmarks = {
  host: "host/host",
  "two-hosts": "host/two-hosts",
  acts: "host/acts",
  invariants: "host/invariants",
  paths: "paths/paths",
  engines: "engines/engines",
  durable: "durable/durable",
  drivers: "drivers/drivers",
  kernel: "kernel",
  regions: "regions",
  runtime: "runtime",
  http: "http",
  contracts: "contracts",
  size: "size/size",
  footprint: "footprint",
};
/** What these are compared with, which is installed beside them. */
const peers = { engines: "casbin", durable: "@restatedev/restate-sdk", drivers: "postgres" };
const flags = process.argv.slice(2).filter((argument) => argument.startsWith("--"));
const asked = process.argv.slice(2).filter((argument) => !argument.startsWith("--"));

const unknown = [
  ...asked.filter((name) => !Object.hasOwn(benchmarks, name)),
  ...flags.filter((flag) => flag !== "--quick"),
];
if (unknown.length > 0) {
  console.error(`expected names of benchmarks (${Object.keys(benchmarks).join(", ")}) and --quick, found ${unknown}`);
  process.exit(2);
}

const names = asked.length > 0 ? asked : Object.keys(benchmarks);
run("npm", ["run", "--silent", "build"]);
const isAnyMissing = Object.entries(peers).some(
  ([name, peer]) => names.includes(name) && !existsSync(`bench/node_modules/${peer}`),
);
if (isAnyMissing) run("npm", ["ci", "--ignore-scripts", "--prefix", "bench"]);
for (const name of names) run("node", ["--expose-gc", `.build/bench/${benchmarks[name]}.bench.js`, ...flags]);
if (asked.length === 0) {
  run("node", [".build/bench/write-results.js", ...names, ...flags]);
  run("npx", ["oxfmt", "bench/results.md"]);
  run("node", [".build/bench/write-sizing.js"]);
}

function run(program, args) {
  const { status } = spawnSync(program, args, { stdio: "inherit" });
  if (status !== 0) process.exit(status ?? 1);
}
