import type { Goal } from "../support/results.ts";
import { median } from "../support/statistics.ts";
import { summarize, type Sample } from "./rounds.ts";

/** At 32 connections, against the bare server: requests a second, and processor time of the host. */
const throughput = [
  { request: "authorize", database: "SQLite", rate: 0.4, cpu: 3 },
  { request: "tools/invoke", database: "SQLite", rate: 0.2, cpu: 6 },
  { request: "turn, one call", database: "SQLite", rate: 0.08, cpu: 14 },
  { request: "tools/invoke", database: "PostgreSQL", rate: 0.1, cpu: undefined },
];

/** At one connection: so many syncs of the disk, and so many milliseconds beyond them. */
const latency = [
  { request: "authorize", database: "SQLite", syncs: 1, words: "one sync", beyondMs: 0.5 },
  { request: "tools/invoke", database: "SQLite", syncs: 2, words: "two syncs", beyondMs: 1 },
];

/** A host under one load, and the bare server in the same rounds. */
export interface Measured {
  readonly request: string;
  readonly database: string;
  readonly connections: number;
  readonly own: readonly Sample[];
  readonly bare: readonly Sample[];
  /** What one sync of the disk took in each round, in milliseconds. */
  readonly syncs: readonly number[];
}

/** The goals that there are for a measurement, if any. */
export function goalsOf({ request, database, connections, own, bare, syncs }: Measured): Goal[] {
  const isOf = (goal: { request: string; database: string }): boolean =>
    goal.request === request && goal.database === database;
  const name = `${request} on ${database}`;
  if (connections === 1) {
    return latency.filter(isOf).map((goal) => ({
      name: `${name}, beyond ${goal.words}`,
      measured: median(own.map(({ p50Ms }, round) => p50Ms - goal.syncs * (syncs[round] ?? Number.NaN))),
      goal: goal.beyondMs,
      side: "at most",
      unit: "ms",
    }));
  }
  if (connections !== 32) return [];
  const { rateRatio, cpuRatio } = summarize(own, bare);
  return throughput
    .filter(isOf)
    .flatMap(({ rate, cpu }): Goal[] => [
      { name: `${name}, rate`, measured: rateRatio, goal: rate, side: "at least", unit: "x bare" },
      ...(cpu === undefined
        ? []
        : [{ name: `${name}, CPU`, measured: cpuRatio, goal: cpu, side: "at most", unit: "x bare" } as const]),
    ]);
}
