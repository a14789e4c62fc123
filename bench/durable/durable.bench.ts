// The journal of turns beside DBOS on the same PostgreSQL: a step, a kill in the middle of an effect, and waiting.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startPostgres } from "../support/postgres.ts";
import { publish } from "../support/results.ts";
import { measureEffects } from "./effects.ts";
import { measureSteps } from "./steps.ts";
import { measureWaiting } from "./waiting.ts";

const isQuick = process.argv.includes("--quick");
const steps = {
  rounds: isQuick ? 3 : 7,
  stepsOf: new Map([
    [32, isQuick ? 25 : 60],
    [1, isQuick ? 100 : 200],
  ]),
};
// The idle time is a multiple of the ten seconds after which a workflow of DBOS looks for its message.
const waiting = { count: isQuick ? 1_000 : 10_000, answers: isQuick ? 5 : 21, idleMs: isQuick ? 10_000 : 20_000 };

const folder = mkdtempSync(join(tmpdir(), "turnpike-bench-"));
process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
const postgres = await startPostgres();
const sections = [
  await measureSteps(join(folder, "steps"), postgres, steps),
  await measureEffects(join(folder, "effects"), postgres, isQuick ? 5 : 20),
  await measureWaiting(join(folder, "waiting"), postgres, waiting),
];
await postgres.stop();
publish("durable", sections);
