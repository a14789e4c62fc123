import { digits, type Goal, type Section } from "./results.ts";
import { median, medianRatio } from "./statistics.ts";

/** One thing to measure, awaited when it returns a promise. */
export interface Subject {
  readonly name: string;
  readonly run: () => unknown;
  /** The subject that its ratio is taken from. */
  readonly against?: string;
  /** What it may take, in microseconds. */
  readonly goalMicros?: number;
  /** How many times of `against` it may take. */
  readonly goalRatio?: number;
}

const isQuick = process.argv.includes("--quick");
const plan = isQuick ? { warmUpMs: 600, rounds: 5, batchMs: 50 } : { warmUpMs: 1500, rounds: 11, batchMs: 100 };

/** The last result ends up here, so that no call can be left out because its result is unused. */
const last: { result: unknown } = { result: undefined };

/**
 * Measures the subjects in turn, round after round in one process, in microseconds of processor time, which other
 * processes do not change much. Nothing collects garbage on purpose: that throws compiled code away, too, and what follows
 * would be measured while it is compiled again. Every second round goes backwards, so that no side always comes behind the
 * same neighbour.
 */
export async function measureSubjects(title: string, subjects: readonly Subject[]): Promise<Section> {
  const samples = new Map(subjects.map(({ name }) => [name, [] as number[]]));
  const sizes = new Map<string, number>();
  for (const { name, run } of subjects) sizes.set(name, await warmUp(run));
  for (let round = 0; round < plan.rounds; round += 1) {
    for (const { name, run } of round % 2 === 0 ? subjects : subjects.toReversed()) {
      samples.get(name)?.push(await batchMicros(run, sizes.get(name) ?? 1));
    }
  }
  return sectionOf(title, subjects, samples);
}

/** Runs until the compiler has seen enough of it, and says how many calls a batch takes from then on. */
async function warmUp(run: () => unknown): Promise<number> {
  let [calls, spent, micros] = [1, 0, Number.NaN];
  while (spent < plan.warmUpMs * 1000) {
    micros = await batchMicros(run, calls);
    spent += micros * calls;
    calls *= 2;
  }
  return Math.max(1, Math.round((plan.batchMs * 1000) / micros));
}

/** Processor time of one call of a batch. */
async function batchMicros(run: () => unknown, calls: number): Promise<number> {
  const first = run();
  const isAsync = first instanceof Promise;
  if (isAsync) await first;
  const start = process.cpuUsage();
  if (isAsync) for (let call = 0; call < calls; call += 1) last.result = await run();
  else for (let call = 0; call < calls; call += 1) last.result = run();
  const { user, system } = process.cpuUsage(start);
  return (user + system) / calls;
}

/** The table of what was measured, and the goals that there are. */
export function sectionOf(
  title: string,
  subjects: readonly Subject[],
  samples: ReadonlyMap<string, readonly number[]>,
): Section {
  const measured = subjects.map((subject) => {
    const own = samples.get(subject.name) ?? [];
    const baseline = samples.get(subject.against ?? "");
    return { subject, micros: median(own), ratio: baseline && medianRatio(own, baseline) };
  });
  return {
    title,
    text: `Medians of ${samples.values().next().value?.length ?? 0} rounds, processor time.`,
    head: ["what", "µs", "ratio", "against"],
    rows: measured.map(({ subject: { name, against = "" }, micros, ratio }) => [
      name,
      digits(micros),
      ratio === undefined ? "" : `${digits(ratio)} x`,
      against,
    ]),
    goals: measured.flatMap(({ subject: { name, goalMicros, goalRatio }, micros, ratio }): Goal[] => [
      ...(goalMicros === undefined
        ? []
        : [{ name, measured: micros, goal: goalMicros, side: "at most", unit: "µs" } as const]),
      ...(goalRatio === undefined
        ? []
        : [{ name, measured: ratio ?? Number.NaN, goal: goalRatio, side: "at most", unit: "x" } as const]),
    ]),
  };
}
