import type { PlantedBug } from "../support/effect-host.ts";

/** One kind of proof: it tries things until it is told that it is over, and continues past what fails. */
export interface Suite {
  /** What it is called on the command line and in the report. */
  readonly name: string;
  /** What is tried and what has to hold, for the report. */
  readonly says: string;
  /** How much of a long run it gets, compared with the others. */
  readonly share: number;
  run(trial: Trial): Promise<Outcome>;
}

export interface Trial {
  readonly seed: number;
  /** A bug that every host of the trial has, to show that the suite finds it. */
  readonly bug?: PlantedBug | undefined;
  /** Asked before each case. */
  isOver(): boolean;
}

export interface Outcome {
  /** What was tried and seen, by its name in the report. */
  readonly counts: Readonly<Record<string, number>>;
  readonly findings: readonly Finding[];
  /** An SVG that shows what was seen, for the report. */
  readonly picture?: string;
}

/** Something that did not hold, as small as it could be made. */
export interface Finding {
  readonly what: string;
  /** What has to be run to see it again. */
  readonly repeat: string;
}

/** A trial of so many cases: what a test run tries of a suite. */
export function cases(count: number, seed: number, bug?: PlantedBug): Trial {
  let left = count;
  return {
    seed,
    bug,
    isOver() {
      left -= 1;
      return left < 0;
    },
  };
}

/** A trial that is over after some time: what a long run tries of it. */
export function during(ms: number, seed: number): Trial {
  const end = performance.now() + ms;
  return { seed, isOver: () => performance.now() >= end };
}

/** What one world saw, and what did not hold in it. */
export interface WorldOutcome {
  readonly counts: Readonly<Record<string, number>>;
  readonly problems: readonly string[];
}

/** Runs one world after the other until it is over, each with the next seed, and adds up what they saw. */
export async function runWorlds(
  suite: string,
  trial: Trial,
  run: (trial: Trial) => Promise<WorldOutcome>,
): Promise<Outcome> {
  const counts: Record<string, number> = {};
  const findings: Finding[] = [];
  for (let place = 0; !trial.isOver(); place += 1) {
    const seed = trial.seed + place;
    const world = await run({ ...trial, seed });
    for (const [name, count] of Object.entries(world.counts)) counts[name] = (counts[name] ?? 0) + count;
    const repeat = `npm run trust -- --only ${suite} --seed ${seed}`;
    findings.push(...world.problems.map((what) => ({ what, repeat })));
  }
  return { counts, findings };
}
