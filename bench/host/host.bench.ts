// A real host, everything on, against a bare node:http server that parses the same bodies, in the same run, and against one that
// keeps as much and decides nothing.
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openDiskSync } from "../support/disk-sync.ts";
import { startHost } from "../support/host-process.ts";
import { startPostgres } from "../support/postgres.ts";
import { digits, publish, type Goal } from "../support/results.ts";
import { median } from "../support/statistics.ts";
import { openWorld } from "../support/world.ts";
import { loadCases } from "./cases.ts";
import { goalsOf } from "./goals.ts";
import { startBareServer, startKeepingServer, startLoad } from "./load-process.ts";
import { measureCell, summarize, type Server } from "./rounds.ts";
import { whereTimeGoes } from "./where-time-goes.ts";

const isQuick = process.argv.includes("--quick");
const plan = isQuick ? { rounds: 3, ms: 300, profileMs: 1500 } : { rounds: 7, ms: 2000, profileMs: 8000 };

// On the disk that temporary files are on, because PostgreSQL's own user has to get there; TMPDIR names another.
const folder = mkdtempSync(join(tmpdir(), "turnpike-bench-"));
process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
const disk = openDiskSync(folder);
const cases = loadCases(new Date().toISOString());
const load = startLoad();
const bare = await startBareServer();
const keeping = await startKeepingServer(join(folder, "keeping.db"));
const postgres = await startPostgres();
const onSqlite = await startHost({ folder: join(folder, "sqlite") });
const onPostgres = await startHost({ folder: join(folder, "postgres"), database: await postgres.newDatabase() });
const servers: Server[] = [
  { name: "bare", pid: bare.pid, port: bare.port, token: "none" },
  { name: "keeping", pid: keeping.pid, port: keeping.port, token: "none" },
  { name: "SQLite", pid: onSqlite.pid, port: onSqlite.port, token: await openWorld(onSqlite) },
  { name: "PostgreSQL", pid: onPostgres.pid, port: onPostgres.port, token: await openWorld(onPostgres) },
];

// Until what is hot is compiled, which takes a turn some seconds.
for (const row of cases) {
  await measureCell(load, servers, { row, connections: 32, rounds: 1, ms: 4 * plan.ms });
}

const rows: string[][] = [];
const goals: Goal[] = [];
const syncs: number[] = [];
let mostOwnCpu = 0;
for (const row of cases) {
  for (const connections of [1, 32, 256]) {
    const syncsHere: number[] = [];
    // No goal is about 256 connections, and a slow host takes long to answer all of them.
    const rounds = isQuick && connections === 256 ? 1 : plan.rounds;
    const samples = await measureCell(load, servers, { row, connections, rounds, ms: plan.ms }, () => {
      if (connections === 1) syncsHere.push(disk.measure(50));
    });
    syncs.push(...syncsHere);
    const bareSamples = samples.get("bare") ?? [];
    mostOwnCpu = Math.max(mostOwnCpu, ...bareSamples.map(({ ownCpu }) => ownCpu));
    for (const [server, own] of samples) {
      const { rate, cpuMicros, p50Ms, p99Ms, rateRatio, cpuRatio } = summarize(own, bareSamples);
      const numbers = [connections, rate, rateRatio, cpuMicros, cpuRatio, p50Ms, p99Ms];
      rows.push([row.name, server, ...numbers.map(digits)]);
      goals.push(
        ...goalsOf({
          request: row.name,
          database: server,
          connections,
          own,
          bare: bareSamples,
          syncs: syncsHere,
        }),
      );
    }
  }
}
await onSqlite.stop();
await onPostgres.stop();
await postgres.stop();
await keeping.stop();
await bare.stop();

const profiles = await whereTimeGoes(join(folder, "profiled"), load, cases, plan.profileMs);
await load.stop();
disk.close();

publish("host", [
  {
    title: "The host against a bare node:http server",
    text:
      `Medians of ${plan.rounds} rounds of ${plan.ms} ms, ratios within a round. One sync of this disk takes ` +
      `${digits(median(syncs))} ms. "Keeping" is the bare server with what the host has to keep on SQLite, as durably and as ` +
      `chained, and nothing else: no caller, no checks, no decision. The process that makes the load used at most ${digits(mostOwnCpu)} of a processor.`,
    head: ["request", "server", "connections", "requests/s", "rate x bare", "CPU µs", "CPU x bare", "p50 ms", "p99 ms"],
    rows,
    goals,
  },
  ...profiles,
]);
