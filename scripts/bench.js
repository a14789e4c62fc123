// Runs the named benchmarks, or all of them: npm run bench -- host --quick
import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";

process.chdir(fileURLToPath(new URL("..", import.meta.url)));

const files = readdirSync("bench", { recursive: true }).filter((file) => /^(?!node_modules).*\.bench\.ts$/.test(file));
const available = new Map(files.map((file) => [/([^/]+)\.bench\.ts$/.exec(file)?.[1], file.replace(/\.ts$/, ".js")]));
const flags = process.argv.slice(2).filter((argument) => argument.startsWith("--"));
const asked = process.argv.slice(2).filter((argument) => !argument.startsWith("--"));

const unknown = [...asked.filter((name) => !available.has(name)), ...flags.filter((flag) => flag !== "--quick")];
if (unknown.length > 0) {
  console.error(`no benchmark named ${unknown.join(", ")}; there are: ${[...available.keys()].join(", ")}`);
  process.exit(2);
}

run("npx", ["tsc", "-b"]);
for (const name of asked.length > 0 ? asked : available.keys()) {
  run("node", ["--expose-gc", `.build/bench/${available.get(name)}`, ...flags]);
}

function run(program, args) {
  const { status } = spawnSync(program, args, { stdio: "inherit" });
  if (status !== 0) process.exit(status ?? 1);
}
