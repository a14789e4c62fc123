import { cpuSeconds } from "../support/process-cpu.ts";
import { median, medianRatio } from "../support/statistics.ts";
import type { LoadCase } from "./cases.ts";
import type { LoadReport } from "./load.ts";
import type { LoadProcess } from "./load-process.ts";

/** Something that answers requests. */
export interface Server {
  readonly name: string;
  readonly pid: number;
  readonly port: number;
  readonly token: string;
}

/** One server under one load. */
export interface Sample extends LoadReport {
  readonly rate: number;
  /** Processor time of the server, in microseconds a request. */
  readonly cpuMicros: number;
}

/** What to measure, and how long. */
export interface Cell {
  readonly row: LoadCase;
  readonly connections: number;
  readonly rounds: number;
  readonly ms: number;
}

/** Loads each server in turn, round after round; each round begins with another one. Samples are by server, then by round. */
export async function measureCell(
  load: LoadProcess,
  servers: readonly Server[],
  { row, connections, rounds, ms }: Cell,
  beforeRound: () => void = () => {},
): Promise<Map<string, Sample[]>> {
  const samples = new Map(servers.map(({ name }) => [name, [] as Sample[]]));
  for (let round = 0; round < rounds; round += 1) {
    beforeRound();
    for (let place = 0; place < servers.length; place += 1) {
      const server = servers[(place + round) % servers.length];
      if (server === undefined) continue;
      samples.get(server.name)?.push(await measure(load, server, { row, connections, ms }));
    }
  }
  return samples;
}

/** One server under one load, for a while. */
export async function measure(
  load: LoadProcess,
  { pid, port, token }: Server,
  { row, connections, ms }: Omit<Cell, "rounds">,
): Promise<Sample> {
  const before = cpuSeconds(pid);
  const report = await load.run({ load: row, port, token, connections, until: { ms } });
  const cpu = cpuSeconds(pid) - before;
  return { ...report, rate: report.requests / report.seconds, cpuMicros: (cpu / report.requests) * 1e6 };
}

/** The medians of a server's samples, and their ratios to a baseline's of the same rounds. */
export interface Summary {
  readonly rate: number;
  readonly cpuMicros: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  readonly rateRatio: number;
  readonly cpuRatio: number;
}

export function summarize(own: readonly Sample[], baseline: readonly Sample[]): Summary {
  const of = (samples: readonly Sample[], key: keyof Sample): number[] => samples.map((sample) => sample[key]);
  return {
    rate: median(of(own, "rate")),
    cpuMicros: median(of(own, "cpuMicros")),
    p50Ms: median(of(own, "p50Ms")),
    p99Ms: median(of(own, "p99Ms")),
    rateRatio: medianRatio(of(own, "rate"), of(baseline, "rate")),
    cpuRatio: medianRatio(of(own, "cpuMicros"), of(baseline, "cpuMicros")),
  };
}
