import { pathSegments } from "./file-columns.ts";

/** Which files may be captured or touched; all others stay as they are. */
export interface Reach {
  covers(path: readonly string[]): Promise<boolean>;
  signal: AbortSignal;
}

/** What an attempt came to: a result, or path texts that it has to know more of. */
export type Attempt<T> = { kind: "done"; result: T } | { kind: "unknown"; paths: readonly string[] };

/**
 * Attempts something until it knows of every path whether it is covered. That is asked between the attempts: an answer
 * may need the database, which an attempt holds.
 */
export async function attemptWithin<T>(
  { covers, signal }: Reach,
  attempt: (covered: ReadonlyMap<string, boolean>) => Promise<Attempt<T>>,
): Promise<T> {
  const covered = new Map<string, boolean>();
  for (;;) {
    signal.throwIfAborted();
    const outcome = await attempt(covered);
    if (outcome.kind === "done") return outcome.result;
    for (const path of outcome.paths) covered.set(path, await covers(pathSegments(path)));
  }
}

/** The paths of which nobody knows yet whether they are covered. */
export function unknownOf(rows: readonly { path: string }[], covered: ReadonlyMap<string, boolean>): string[] {
  return rows.map(({ path }) => path).filter((path) => !covered.has(path));
}
