// Runs the most telling tests on the other versions of Node that are supported: SQLite and the channels to MCP servers; what the
// library does with the platform's requests, and the first hour with the packed packages; on the newest what SQLite promises.
// Takes `-- 24` to run one of them.
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";

process.chdir(fileURLToPath(new URL("..", import.meta.url)));

const cpu = process.arch === "arm64" ? "arm64" : "x64";
const programOf = (version) => `checks/node_modules/node${version}-linux-${cpu}/bin/node`;

const projects = ["unit", "sqlite", "faults", "e2e"].flatMap((name) => ["--project", name]);
const channels = ["packages/host/src/mcp-servers/http-channel", "packages/host/src/mcp-servers/stdio-channel"];
const tests = {
  22: ["packages/host/src/storage/sqlite", ...channels],
  24: [
    "packages/turnpike/src/http",
    "packages/turnpike/src/client",
    "packages/host/src/storage/sqlite",
    ...channels,
    "tests/first-hour",
  ],
  // What SQLite promises, with Node's own driver, which each version may change.
  26: [
    "packages/host/src/storage",
    "packages/host/src/ledger",
    "packages/host/src/compose/query-plans",
    "packages/host/src/files",
    "tests/host/full-disk",
  ],
};

const chosen = process.argv.slice(2);
const versions = Object.keys(tests).filter((version) => chosen.length === 0 || chosen.includes(version));

function run(program, args) {
  const env = { ...process.env, TEST_DATABASES: "sqlite" };
  const { status } = spawnSync(program, args, { stdio: "inherit", env });
  if (status !== 0) process.exit(1);
}

run(process.execPath, ["scripts/install-checks.js"]);
for (const version of versions) {
  console.log(`Node ${version}:`);
  run(programOf(version), ["node_modules/vitest/vitest.mjs", "run", ...projects, ...tests[version]]);
}
