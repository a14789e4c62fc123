// What a durable step takes.
import { join } from "node:path";
import type { Postgres } from "../support/postgres.ts";
import { digits, type Section } from "../support/results.ts";
import { median, medianRatio } from "../support/statistics.ts";
import { startWorker } from "./worker.ts";

export interface StepsPlan {
  readonly rounds: number;
  /** How many steps a workflow or a turn makes, by how many of them run at once. */
  readonly stepsOf: ReadonlyMap<number, number>;
}

interface Sample {
  readonly cpuMicros: number;
  readonly micros: number;
}

/** Measures each side in turn, round after round; each round begins with another one. */
export async function measureSteps(folder: string, postgres: Postgres, plan: StepsPlan): Promise<Section> {
  const baseline = "DBOS on PostgreSQL";
  const databases: string[] = [];
  while (databases.length < 3) databases.push(await postgres.newDatabase());
  const workers = new Map([
    [baseline, await startWorker("dbos.js", { database: databases[0] }, join(folder, "dbos"))],
    ["Restate", await startWorker("restate.js", {}, join(folder, "restate"))],
    ["Graphile Worker", await startWorker("graphile.js", { database: databases[1] }, join(folder, "graphile"))],
    ["turn on PostgreSQL", await startWorker("executor.js", { database: databases[2] }, join(folder, "postgres"))],
    ["turn on SQLite", await startWorker("executor.js", { database: "steps.db" }, join(folder, "sqlite"))],
  ]);
  const rows: string[][] = [];
  for (const [atOnce, count] of plan.stepsOf) {
    const samples = new Map([...workers.keys()].map((name) => [name, [] as Sample[]]));
    // The first round warms up.
    for (let round = 0; round <= plan.rounds; round += 1) {
      const ids = Array.from({ length: atOnce }, (_, place) => `steps-${atOnce}-${round}-${place}`);
      for (let place = 0; place < workers.size; place += 1) {
        const [name, worker] = [...workers][(place + round) % workers.size] ?? [];
        const total = await worker?.order<Sample>("steps", { ids, count });
        if (name === undefined || total === undefined || round === 0) continue;
        const steps = atOnce * count;
        samples.get(name)?.push({ cpuMicros: total.cpuMicros / steps, micros: total.micros / steps });
      }
    }
    const of = (name: string, key: keyof Sample): number[] => (samples.get(name) ?? []).map((sample) => sample[key]);
    for (const name of workers.keys()) {
      const cpuRatio = medianRatio(of(name, "cpuMicros"), of(baseline, "cpuMicros"));
      const rateRatio = 1 / medianRatio(of(name, "micros"), of(baseline, "micros"));
      const [cpu, micros] = [median(of(name, "cpuMicros")), median(of(name, "micros"))];
      rows.push([name, ...[atOnce, cpu, cpuRatio, 1e6 / micros, rateRatio].map(digits)]);
    }
  }
  for (const worker of workers.values()) await worker.stop();
  return {
    title: "A durable step, beside DBOS, Restate and Graphile Worker",
    text:
      `Medians of ${plan.rounds} rounds, ratios within a round. A step that comes to a few bytes, in as many workflows or turns ` +
      "at once; their beginning and end are in the numbers. CPU is that of the process that runs them, in which SQLite's is, and " +
      "PostgreSQL's and that of Restate's server are not. Everywhere a step is durable before the next one begins. What the numbers do not show: a tool call of a turn costs " +
      "more than a step, because it is also decided about and audited, which the others do not do.",
    head: ["what", "at once", "CPU µs a step", "x DBOS", "steps/s", "x DBOS"],
    rows,
  };
}
