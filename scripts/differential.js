// Compares the built kernel with the naive authorizer of the tests: npm run differential -- --decisions 1000000 --seed 42
import { spawnSync } from "node:child_process";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";

process.chdir(fileURLToPath(new URL("..", import.meta.url)));

const { values } = parseArgs({
  options: {
    decisions: { type: "string", default: "1000000" },
    seed: { type: "string", default: String(Math.floor(Math.random() * 2 ** 31)) },
  },
});
const decisions = Number(values.decisions);
const seed = Number(values.seed);
if (!(Number.isInteger(decisions) && decisions > 0 && Number.isInteger(seed))) {
  console.error("--decisions takes a positive integer, --seed an integer");
  process.exit(2);
}

const { status } = spawnSync("npx", ["tsc", "-b", "packages/turnpike/test/tsconfig.differential.json"], {
  stdio: "inherit",
});
if (status !== 0) process.exit(status ?? 1);
const { runDifferential } = await import(
  new URL("../.build/differential/differential/differential.js", import.meta.url).href
);
const { createKernel } = await import(new URL("../packages/turnpike/dist/kernel/index.js", import.meta.url).href);

console.log(`seed ${seed}`);
const start = performance.now();
const summary = await runDifferential({ createKernel, seed, decisions });
const perSecond = Math.round((summary.decisions / (performance.now() - start)) * 1000);

for (const disagreement of summary.disagreements) console.log(`\n${disagreement}\n`);
for (const [reason, count] of [...summary.reasons].toSorted(([, one], [, other]) => other - one)) {
  console.log(`${reason.padEnd(30)}${String(count).padStart(10)}`);
}
console.log(
  `${summary.decisions} decisions (${summary.executions} executions), ` +
    `${((100 * summary.allowed) / summary.decisions).toFixed(1)}% allowed, ` +
    `${summary.disagreements.length} disagreements, ${perSecond} decisions/s`,
);
process.exitCode = summary.disagreements.length > 0 ? 1 : 0;
