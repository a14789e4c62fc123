// Compares the built kernel with the naive authorizer of the tests, on every core:
// npm run differential -- --decisions 100000000 --seed 42
import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { Worker } from "node:worker_threads";

process.chdir(fileURLToPath(new URL("..", import.meta.url)));

/** A part has a seed of its own, so that what it finds can be seen again without the parts before it. */
const decisionsPerPart = 20_000;
const secondsBetweenLines = 30;

const { values } = parseArgs({
  options: {
    decisions: { type: "string", default: "1000000" },
    seed: { type: "string", default: String(Math.floor(Math.random() * 2 ** 31)) },
    threads: { type: "string", default: String(availableParallelism()) },
  },
});
const decisions = Number(values.decisions);
const seed = Number(values.seed);
const threads = Number(values.threads);
if (![decisions, threads].every((count) => Number.isInteger(count) && count > 0) || !Number.isInteger(seed)) {
  console.error("--decisions and --threads take a positive integer, --seed an integer");
  process.exit(2);
}

const { status } = spawnSync("npx", ["tsc", "-b", "packages/turnpike/test/tsconfig.differential.json"], {
  stdio: "inherit",
});
if (status !== 0) process.exit(status ?? 1);

console.log(`seed ${seed}, ${threads} threads`);
const start = performance.now();
const total = { decisions: 0, executions: 0, allowed: 0, disagreements: 0 };
const reasons = new Map();
let begun = 0;
let saidAt = start;
await Promise.all(Array.from({ length: threads }, runParts));

for (const [reason, count] of [...reasons].toSorted(([, one], [, other]) => other - one)) {
  console.log(`${reason.padEnd(30)}${String(count).padStart(10)}`);
}
console.log(lineOf(total));
process.exitCode = total.disagreements > 0 ? 1 : 0;

/** One thread, which takes part after part until all are done. */
async function runParts() {
  const worker = new Worker(new URL("differential-worker.js", import.meta.url));
  while (begun * decisionsPerPart < decisions && total.disagreements < 10) {
    const part = begun;
    begun += 1;
    const size = Math.min(decisionsPerPart, decisions - part * decisionsPerPart);
    // oxlint-disable-next-line unicorn/require-post-message-target-origin -- a thread, not a window
    worker.postMessage({ seed: seed + part, decisions: size });
    const [summary] = await once(worker, "message");
    add(summary);
  }
  await worker.terminate();
}

function add(summary) {
  total.decisions += summary.decisions;
  total.executions += summary.executions;
  total.allowed += summary.allowed;
  total.disagreements += summary.disagreements.length;
  for (const [reason, count] of summary.reasons) reasons.set(reason, (reasons.get(reason) ?? 0) + count);
  for (const disagreement of summary.disagreements) {
    console.log(`\n--seed ${summary.seed} --decisions ${decisionsPerPart}\n${disagreement}\n`);
  }
  if (performance.now() - saidAt < secondsBetweenLines * 1000) return;
  saidAt = performance.now();
  console.log(lineOf(total));
}

function lineOf({ decisions: made, executions, allowed, disagreements }) {
  return (
    `${made} decisions (${executions} executions), ${((100 * allowed) / made).toFixed(1)}% allowed, ` +
    `${disagreements} disagreements, ${Math.round((made / (performance.now() - start)) * 1000)} decisions/s`
  );
}
