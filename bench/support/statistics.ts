/** The value that a share of the others lies below: 0.5 is the median. NaN when there are none. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}

/** The value in the middle; of an even number of values, the mean of the two in the middle. */
export function median(values: readonly number[]): number {
  const sorted = values.toSorted((one, other) => one - other);
  const middle = Math.floor(sorted.length / 2);
  const upper = sorted[middle] ?? Number.NaN;
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2;
}

/**
 * The median of the ratios within each round. A machine that slows down for a while slows both sides of a round, so that
 * this moves less than the ratio of the medians.
 */
export function medianRatio(own: readonly number[], baseline: readonly number[]): number {
  if (own.length !== baseline.length) throw new Error("both sides of a ratio need as many rounds");
  return median(own.map((value, round) => value / (baseline[round] ?? Number.NaN)));
}
