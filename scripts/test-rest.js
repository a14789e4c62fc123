// What a commit must pass besides `npm test`: rows of steps side by side, because most of them wait half of their time. Each
// step's output is in .build/test-rest; a failure is shown whole and ends the run, and the tests of the host are shown last.
import { spawn } from "node:child_process";
import { mkdirSync, openSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { setup, teardown } from "./test-folder.js";

process.chdir(fileURLToPath(new URL("..", import.meta.url)));
mkdirSync(".build/test-rest", { recursive: true });

const { scripts } = JSON.parse(readFileSync("package.json", "utf8"));

const databases = ["databases", "vitest run --project protocols --project postgres --project faults"];
const last = ["tests", "vitest run --project e2e"];
const checks = ["runtimes", "interop", "oracles", "examples", "agents", "generators", "browser", "nodes"].map(
  (name) => `test:${name}`,
);

/** What the scripts of the checks begin with: installing and building, here once for all of them. */
const beginnings = new Set(checks.flatMap((script) => scripts[script].split(" && ").slice(0, -1)));

const before = [...beginnings].map((command) => [command, command]);
/** One after the other; the rows of each run side by side. The browser is not beside the hosts, which take both cores. */
const phases = [
  [
    [["lint", "npm run --silent lint"], ["coverage", "npm run --silent coverage --workspace turnpike"], databases],
    checks.filter((script) => script !== "test:nodes").map(step),
  ],
  // Simulated worlds, planted bugs, random requests and bodies; their large size, and properties, are for `npm run test:fuzz`.
  [[last], [step("test:nodes"), ["fuzz", "TEST_SIZE=small vitest run --project fuzz .fuzz."]]],
];

/** The last command of a script: those before it have been run. */
function step(script) {
  return [script, scripts[script].split(" && ").at(-1)];
}

setup();
process.once("exit", teardown);

const running = new Set();

async function run([name, command]) {
  const began = performance.now();
  const log = openSync(logOf(name), "w");
  const child = spawn(command, { shell: true, detached: true, stdio: ["ignore", log, log] });
  running.add(child);
  const code = await new Promise((resolve) => child.once("close", resolve));
  running.delete(child);
  const seconds = Math.round((performance.now() - began) / 1000);
  if (code === 0) return console.log(`${name}: passed after ${seconds} s`);
  stopAll();
  process.stdout.write(readFileSync(logOf(name)));
  console.log(`${name} failed after ${seconds} s: ${command}`);
  process.exit(1);
}

function logOf(name) {
  return `.build/test-rest/${name.replaceAll(/[^a-z]+/g, "-")}.log`;
}

/** A step is a group of processes. */
function stopAll() {
  for (const { pid } of running) process.kill(-pid, "SIGKILL");
}

for (const signal of ["SIGINT", "SIGTERM"]) {
  process.once(signal, () => {
    stopAll();
    process.exit(1);
  });
}

for (const each of before) await run(each);
for (const rows of phases) {
  await Promise.all(
    rows.map(async (row) => {
      for (const each of row) await run(each);
    }),
  );
}
for (const [name] of [databases, last]) process.stdout.write(readFileSync(logOf(name)));
