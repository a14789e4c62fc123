// Runs the named benchmarks, or all of them: npm run bench -- contracts
import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { fileURLToPath } from "node:url";

process.chdir(fileURLToPath(new URL("..", import.meta.url)));

const available = readdirSync("bench").flatMap((file) => /^(.+)\.bench\.ts$/.exec(file)?.[1] ?? []);
const asked = process.argv.slice(2);

const unknown = asked.filter((name) => !available.includes(name));
if (unknown.length > 0) {
  console.error(`no benchmark named ${unknown.join(", ")}; there are: ${available.join(", ")}`);
  process.exit(2);
}

run("npx", ["tsc", "-b"]);
for (const name of asked.length > 0 ? asked : available) run("node", ["--expose-gc", `.build/bench/${name}.bench.js`]);

function run(program, args) {
  const { status } = spawnSync(program, args, { stdio: "inherit" });
  if (status !== 0) process.exit(status ?? 1);
}
