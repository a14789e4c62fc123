import type { Database } from "./database.ts";
import { heartbeat } from "./heartbeat.ts";
import { isOutage } from "./outage.ts";
import { UnansweredCommitError, type Step } from "./steps.ts";

/** Knows whether calls can write to a database. */
export interface WriteWatch {
  /** The transactions of calls go through here. */
  readonly transact: Database["transact"];
  /**
   * Writes to the database, as much as a call that failed would have written. Rejects when that fails, and while writes of calls
   * have been failing for five seconds, even if this one would succeed.
   */
  probe(): Promise<void>;
}

/** Writes of calls that have failed since the last one that succeeded. */
interface FailedWrites {
  /** When the first of them failed, and the last. */
  since: number;
  lastAt: number;
  /** How much the last of them would have written, and why it failed. */
  bytes: number;
  error: unknown;
}

const failingMs = 5000;
/** A probe writes no more than this. */
const mostBytes = 4_194_304;

/** Follows the transactions of calls: those that the database took, and those that it could not take. */
export function watchWrites(
  database: Pick<Database, "transact" | "db" | "hostId">,
  clock = () => performance.now(),
): WriteWatch {
  let failed: FailedWrites | undefined;
  return {
    async transact(work) {
      const sent: Step[] = [];
      try {
        const result = await database.transact((run) =>
          work((steps, end) => {
            sent.push(...steps);
            return run(steps, end);
          }),
        );
        failed = undefined;
        return result;
      } catch (error) {
        if (isOutage(error) || error instanceof UnansweredCommitError) {
          const lastAt = clock();
          failed = { since: failed?.since ?? lastAt, lastAt, bytes: Math.min(bytesOf(sent), mostBytes), error };
        }
        throw error;
      }
    },
    async probe() {
      const before = failed;
      const now = clock();
      const isQuiet = before !== undefined && now - before.lastAt >= failingMs;
      if (before !== undefined && !isQuiet && now - before.since >= failingMs) throw before.error;
      await heartbeat(database, before?.bytes);
      // A probe that succeeds between two calls that fail proves nothing about calls.
      if (isQuiet && failed === before) failed = undefined;
    },
  };
}

function bytesOf(steps: readonly Step[]): number {
  const values = steps.flatMap(({ rows }) => rows.flat());
  return values.reduce<number>((sum, value) => sum + (typeof value === "string" ? Buffer.byteLength(value) : 8), 0);
}
