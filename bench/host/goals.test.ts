import { expect, test } from "vitest";
import { goalsOf } from "./goals.ts";
import { summarize, type Sample } from "./rounds.ts";

function sample(rate: number, cpuMicros: number, p50Ms = 1): Sample {
  return { rate, cpuMicros, p50Ms, p99Ms: 2, requests: 100, seconds: 1, ownCpu: 0.3 };
}
const bare = [sample(10_000, 50), sample(5000, 100), sample(8000, 60)];

test("a summary has medians, and ratios to the bare server of the same round", () => {
  const own = [sample(1000, 500), sample(600, 1000), sample(800, 540)];
  expect(summarize(own, bare)).toEqual({
    rate: 800,
    cpuMicros: 540,
    p50Ms: 1,
    p99Ms: 2,
    rateRatio: 0.1,
    cpuRatio: 10,
  });
});

test("at 32 connections the goals are rate and processor time against the bare server", () => {
  const own = [sample(5000, 200), sample(2500, 400), sample(4000, 240)];
  const measured = { request: "authorize", database: "SQLite", connections: 32, own, bare, syncs: [] };
  expect(goalsOf(measured)).toEqual([
    { name: "authorize on SQLite, rate", measured: 0.5, goal: 0.4, side: "at least", unit: "x bare" },
    { name: "authorize on SQLite, CPU", measured: 4, goal: 3, side: "at most", unit: "x bare" },
  ]);
  expect(goalsOf({ ...measured, database: "PostgreSQL" })).toEqual([]);
  expect(goalsOf({ ...measured, connections: 256 })).toEqual([]);
});

test("at one connection the goal is what a request takes beyond its syncs, each round with its own", () => {
  const own = [sample(100, 200, 4.5), sample(100, 200, 2.75), sample(100, 200, 9)];
  const measured = { request: "tools/invoke", database: "SQLite", connections: 1, own, bare, syncs: [2, 1, 4] };
  expect(goalsOf(measured)).toEqual([
    { name: "tools/invoke on SQLite, beyond two syncs", measured: 0.75, goal: 1, side: "at most", unit: "ms" },
  ]);
});
