// What it takes to wait for an answer.
import { join } from "node:path";
import type { Postgres } from "../support/postgres.ts";
import { digits, type Section } from "../support/results.ts";
import { median } from "../support/statistics.ts";
import { dbosSide, hostSide, pause, type Running, type Side } from "./sides.ts";

export interface WaitingPlan {
  /** How many wait. */
  readonly count: number;
  /** How many of them are answered. */
  readonly answers: number;
  readonly idleMs: number;
}

interface Memory {
  readonly rss: number;
  readonly heapUsed: number;
}

const columns = [
  "RSS before",
  "RSS waiting",
  "RSS, new process",
  "heap KiB each",
  "CPU waiting",
  "ms from answer to next line",
  "s to begin all",
  "s until a new process has them",
];
/** How long a process has to come to rest. */
const restMs = 3_000;

export async function measureWaiting(folder: string, postgres: Postgres, plan: WaitingPlan): Promise<Section> {
  const sides = [
    dbosSide("DBOS.recv on PostgreSQL", join(folder, "dbos"), await postgres.newDatabase()),
    hostSide("turns on PostgreSQL", join(folder, "postgres"), await postgres.newDatabase()),
    hostSide("turns on SQLite", join(folder, "sqlite")),
  ];
  const measured: number[][] = [];
  for (const side of sides) measured.push(await measureSide(side, plan));
  const [ofDbos = [], ...ofTurns] = measured;
  // Of every column less is better.
  const better = columns.filter((_, place) => ofTurns.every((of) => Number(ofDbos[place]) < Number(of[place])));
  return {
    title: `${digits(plan.count)} that wait for an answer, beside DBOS`,
    text:
      "RSS of the process once garbage is collected, in MiB: with nothing that waits but after a hundred that did, with all of " +
      "them waiting, and in a new process on the same database. A process keeps memory that it needed for a while, so the new " +
      "one says more. A workflow of DBOS that waits is in memory, and looks for its message every ten seconds; a turn that " +
      `waits is a row. CPU is the share of a processor over ${digits(plan.idleMs / 1000)} s in which nothing happens. A host ` +
      "is a whole service here, which is asked over HTTP and looks at credentials, decides, audits and keeps a question that " +
      "a person can read; DBOS is a library that gets a message of its parent process. Less is better in every column; DBOS " +
      `is better than the turns on both databases in: ${better.join(", ") || "none"}.`,
    head: ["what", ...columns],
    rows: sides.map(({ name }, place) => [name, ...(measured[place] ?? []).map(digits)]),
  };
}

async function measureSide(side: Side, { count, answers, idleMs }: WaitingPlan): Promise<number[]> {
  const first = await side.start();
  await first.wait(idsOf("warm-", 100));
  for (const { id, answer } of await first.questions(100)) {
    await answer();
    await first.worker.heard("goesOn", id);
  }
  const before = await first.worker.order<Memory>("memory");
  const start = performance.now();
  const ids = idsOf("wait-", count);
  await first.wait(ids);
  const seconds = (performance.now() - start) / 1000;
  const cpu = await idleCpu(first, idleMs);
  const waiting = await first.worker.order<Memory>("memory");
  const times: number[] = [];
  const answered = new Set<string>();
  for (const { id, answer } of await first.questions(answers)) {
    const asked = performance.now();
    await Promise.all([answer(), first.worker.heard("goesOn", id)]);
    times.push(performance.now() - asked);
    answered.add(id);
  }
  await first.worker.kill();
  const killed = performance.now();
  const second = await side.start();
  await second.waitAgain(ids.filter((id) => !answered.has(id)));
  const backSeconds = (performance.now() - killed) / 1000;
  await pause(restMs);
  const again = await second.worker.order<Memory>("memory");
  await second.worker.kill();
  const mebibytes = [before, waiting, again].map(({ rss }) => rss / 2 ** 20);
  const each = Math.max(0, waiting.heapUsed - before.heapUsed) / 1024 / count;
  return [...mebibytes, each, cpu, median(times), seconds, backSeconds];
}

function idsOf(prefix: string, count: number): string[] {
  return Array.from({ length: count }, (_, place) => `${prefix}${place}`);
}

/** The share of a processor that a process uses while nothing happens, once it has come to rest. */
async function idleCpu({ worker }: Running, ms: number): Promise<number> {
  await pause(restMs);
  const before = await worker.order<NodeJS.CpuUsage>("cpu");
  await pause(ms);
  const after = await worker.order<NodeJS.CpuUsage>("cpu");
  return (after.user + after.system - before.user - before.system) / (ms * 1000);
}
