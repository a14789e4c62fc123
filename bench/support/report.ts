import { do_not_optimize, measure } from "mitata";

/** One thing to measure, awaited when it returns a promise; `against` names the subject its ratio is taken from. */
export interface Subject {
  readonly name: string;
  readonly run: () => unknown;
  readonly against?: string;
}

const rounds = 9;
const settings = { min_cpu_time: 60_000_000, batch_samples: 256 };

/** Measures the subjects in turn, round after round in one process, and prints the median of each. */
export async function report(title: string, subjects: readonly Subject[]): Promise<void> {
  const samples = new Map(subjects.map(({ name }) => [name, [] as number[]]));
  // Round 0 warms up: its numbers are dropped.
  for (let round = 0; round <= rounds; round += 1) {
    for (const { name, run } of subjects) {
      const { p50 } = await measure(() => kept(run()), { ...settings });
      if (round > 0) samples.get(name)?.push(p50 / 1000);
    }
  }
  console.log(table(title, subjects, samples));
}

function kept(result: unknown): unknown {
  do_not_optimize(result);
  return result;
}

function table(title: string, subjects: readonly Subject[], samples: ReadonlyMap<string, readonly number[]>): string {
  const rows = subjects.map(({ name, against = "" }) => {
    const own = samples.get(name) ?? [];
    // Each ratio is taken within one round, so that a machine that slows down slows both sides of it.
    const ratios = samples.get(against)?.map((baseline, round) => (own[round] ?? Number.NaN) / baseline);
    return [name, median(own).toFixed(2), ratios ? `${median(ratios).toFixed(2)}x` : "", against];
  });
  const cells = [[title, "µs", "ratio", "against"], ...rows];
  const width = (column: number) => Math.max(...cells.map((row) => row[column]?.length ?? 0));
  return cells
    .map(([name = "", own = "", ratio = "", against = ""]) =>
      `${name.padEnd(width(0))}  ${own.padStart(width(1))}  ${ratio.padStart(width(2))}  ${against}`.trimEnd(),
    )
    .join("\n");
}

function median(values: readonly number[]): number {
  return values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? Number.NaN;
}
