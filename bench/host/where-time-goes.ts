import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { digits, type Section } from "../support/results.ts";
import { cpuSeconds } from "../support/process-cpu.ts";
import { startHost } from "../support/host-process.ts";
import { openWorld } from "../support/world.ts";
import type { LoadCase } from "./cases.ts";
import type { LoadProcess } from "./load-process.ts";
import { splitWaiting, sumTimes, timeByRoom, type CpuProfile, type Window } from "./profile.ts";

interface Span extends Window {
  readonly name: string;
  readonly requests: number;
  readonly cpuMicros: number;
}

/** Loads a host that profiles itself, one case after the other, and says in which rooms the time of a request went. */
export async function whereTimeGoes(
  folder: string,
  load: LoadProcess,
  cases: readonly LoadCase[],
  ms: number,
): Promise<Section[]> {
  const profiles = join(folder, "profiles");
  const nodeFlags = ["--cpu-prof", `--cpu-prof-dir=${profiles}`];
  const host = await startHost({ folder, nodeFlags, isUnbundled: true });
  const token = await openWorld(host);
  const spans: Span[] = [];
  for (const row of cases) {
    const order = { load: row, port: host.port, token, connections: 32 };
    await load.run({ ...order, until: { ms: ms / 4 } });
    const [from, cpu] = [now(), cpuSeconds(host.pid)];
    const { requests } = await load.run({ ...order, until: { ms } });
    spans.push({
      name: row.name,
      requests,
      from,
      until: now(),
      cpuMicros: (cpuSeconds(host.pid) - cpu) * 1e6,
    });
  }
  await host.stop();
  const threads = readdirSync(profiles).map((file) => readProfile(join(profiles, file)));
  return spans.map((span) => tableOf(span, threads));
}

function tableOf(span: Span, threads: readonly CpuProfile[]): Section {
  const { self, charged } = sumTimes(threads.map((thread) => timeByRoom(thread, span)));
  // What SQLite's statements run in: a package, or Node itself.
  const driver = self.has("libsql") ? "libsql" : "native";
  const split = splitWaiting(self, driver, span.cpuMicros);
  const total = [...split.values()].reduce((sum, micros) => sum + micros, 0);
  const micros = (value: number | undefined): string => (value === undefined ? "" : digits(value / span.requests));
  const rows = [...new Set([...split.keys(), ...charged.keys()])]
    .map((room) => ({ room, own: split.get(room), with: charged.get(room) }))
    .filter((row) => Math.max(row.own ?? 0, row.with ?? 0) >= total / 200)
    .toSorted((one, other) => (other.own ?? 0) - (one.own ?? 0));
  return {
    title: `Where the time of ${span.name} goes`,
    text:
      "SQLite, 32 connections, µs a request by the clock, rooms below half a percent left out. The first column is the " +
      "room's own code; the last one adds what it calls in packages and in node. On a machine that does other things, " +
      "waiting for the disk has the waiting for a processor in it.",
    head: ["room", "own µs", "share", "with what it calls µs"],
    rows: [
      ...rows.map((row) => [
        row.room,
        micros(row.own),
        row.own === undefined ? "" : `${((row.own / total) * 100).toFixed(1)}%`,
        micros(row.with),
      ]),
      ["all", micros(total), "100%", ""],
    ],
  };
}

function readProfile(path: string): CpuProfile {
  return JSON.parse(readFileSync(path, "utf8")) as CpuProfile;
}

function now(): number {
  return Number(process.hrtime.bigint() / 1000n);
}
