// Runs the most telling tests on the other versions of Node that are supported: the library, SQLite, the channels to MCP
// servers, and the first hour with the packed packages; on the newest what SQLite promises. Takes `-- 24` to run one of them.
import { spawnSync } from "node:child_process";
import { existsSync } from "node:fs";
import { fileURLToPath } from "node:url";

process.chdir(fileURLToPath(new URL("..", import.meta.url)));

const chosen = process.argv.slice(2);
const versions = ["22", "24", "26"].filter((version) => chosen.length === 0 || chosen.includes(version));
const cpu = process.arch === "arm64" ? "arm64" : "x64";
const programOf = (version) => `runtime-tests/node_modules/node${version}-linux-${cpu}/bin/node`;

const projects = ["unit", "database", "e2e"].flatMap((name) => ["--project", name]);
const tests = [
  "packages/turnpike/src",
  "packages/host/src/storage/sqlite",
  "packages/host/src/mcp-servers/http-channel",
  "packages/host/src/mcp-servers/stdio-channel",
  "tests/first-hour",
];
/** What SQLite promises, with Node's own driver, which each version may change. */
const sqliteTests = [
  "packages/host/src/storage",
  "packages/host/src/ledger",
  "packages/host/src/compose/query-plans",
  "packages/host/src/files",
  "tests/host/full-disk",
  "tests/host/kill",
];

function run(program, args) {
  const { status } = spawnSync(program, args, { stdio: "inherit" });
  if (status !== 0) process.exit(1);
}

if (!versions.every((version) => existsSync(programOf(version)))) {
  run("npm", ["ci", "--ignore-scripts", "--prefix", "runtime-tests"]);
}
for (const version of versions) {
  console.log(`Node ${version}:`);
  const chosenTests = version === "26" ? sqliteTests : tests;
  run(programOf(version), ["node_modules/vitest/vitest.mjs", "run", ...projects, ...chosenTests]);
}
