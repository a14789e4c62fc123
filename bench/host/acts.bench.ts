// What an act costs, its beginning and its outcome together, against one tool call that needs the same and is stored as durably.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startHost } from "../support/host-process.ts";
import { digits, publish } from "../support/results.ts";
import { median } from "../support/statistics.ts";
import { openWorld } from "../support/world.ts";
import { actCase, loadCases } from "./cases.ts";
import { startLoad } from "./load-process.ts";
import { measureCell, summarize } from "./rounds.ts";

const isQuick = process.argv.includes("--quick");
const plan = isQuick ? { rounds: 3, ms: 500 } : { rounds: 7, ms: 2000 };
const connections = 32;

const folder = mkdtempSync(join(tmpdir(), "turnpike-bench-"));
process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
const now = new Date().toISOString();
const cases = [...loadCases(now).filter(({ name }) => name === "tools/invoke"), actCase(now)];
const load = startLoad();
const host = await startHost({ folder: join(folder, "sqlite") });
const server = { name: "SQLite", pid: host.pid, port: host.port, token: await openWorld(host) };
for (const row of cases) await measureCell(load, [server], { row, connections, rounds: 1, ms: 4 * plan.ms });

const rows: string[][] = [];
const micros = new Map<string, number[]>();
// One round of each after the other, so that both have the same machine.
for (let round = 0; round < plan.rounds; round += 1) {
  for (const row of cases) {
    const samples =
      (await measureCell(load, [server], { row, connections, rounds: 1, ms: plan.ms })).get("SQLite") ?? [];
    const { rate, cpuMicros, p50Ms, p99Ms } = summarize(samples, samples);
    micros.set(row.name, [...(micros.get(row.name) ?? []), cpuMicros]);
    rows.push([row.name, String(round + 1), ...[rate, cpuMicros, p50Ms, p99Ms].map(digits)]);
  }
}
await host.stop();
await load.stop();

const [calls = [], acts = []] = cases.map(({ name }) => micros.get(name));
const measured = median(acts.map((own, round) => own / (calls[round] ?? Number.NaN)));
publish("acts", [
  {
    title: "An act against a tool call",
    text: `Rounds of ${plan.ms} ms at ${connections} connections on SQLite. An act is two requests: its beginning, and its outcome.`,
    head: ["what", "round", "a second", "CPU µs", "p50 ms", "p99 ms"],
    rows,
    goals: [{ name: "act against tools/invoke, CPU", measured, goal: 1.3, side: "at most", unit: "x tools/invoke" }],
  },
]);
