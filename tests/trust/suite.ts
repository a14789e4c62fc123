/** One kind of proof: it tries things until it is told that it is over, and goes on past what fails. */
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
export function cases(count: number, seed: number): Trial {
  let left = count;
  return {
    seed,
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
