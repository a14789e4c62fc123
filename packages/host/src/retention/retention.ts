import { setTimeout as delay } from "node:timers/promises";
import { sql } from "kysely";
import { errorFacts, type Log } from "../telemetry/index.ts";
import { advisoryLocks, type Database } from "../storage/index.ts";
import type { RetentionKind } from "./retention-kinds.ts";

/**
 * Does one short piece of work, then pauses for as long as that took. So calls get at least half of the time of the writing
 * thread or of the locks. Throws a `StoppedError` when the host closes, or is too old for
 * its database.
 */
export type RunStep = <T>(work: () => Promise<T>) => Promise<T>;

/** Removes old rows step by step, and returns how many. */
export interface RetentionTask {
  name: string;
  run(now: Date, step: RunStep): Promise<number>;
}

/** Removes old rows in the background. */
export interface Retention {
  /** Removes everything that is old by now. A failure is logged, and the next run tries again. */
  run(): Promise<void>;
  /** Runs every hour for as long as the host runs. */
  start(): void;
  /** Stops after the step that runs. */
  close(): Promise<void>;
}

/** What retention is made of. */
export interface RetentionOptions {
  database: Database;
  tasks: readonly RetentionTask[];
  log: Log;
  /** The time by which tasks judge. */
  now(): Promise<Date>;
  /** The advisory lock under which one host of a PostgreSQL at a time does these tasks. */
  lock: number;
}

class StoppedError extends Error {
  override readonly name = "StoppedError";
}

/** The locks of the tasks of a host: one for rows that are removed by age, one for those of deleted tenants. */
export const retentionLocks = { age: advisoryLocks.retention, tenant: advisoryLocks.deletedTenants };
const rowsAtOnce = 200;
const hourMs = 3_600_000;
const failed = "could not remove old rows, will retry within an hour";

/**
 * Retention of one host. Each step removes a few rows in a transaction of its own, so after a host was killed the next run
 * removes the rest.
 */
export function createRetention({ database, tasks, log, now, lock }: RetentionOptions): Retention {
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> = Promise.resolve();
  /** The run that has not begun yet. */
  let waiting: Promise<void> | undefined;
  let isClosed = false;

  const step: RunStep = async (work) => {
    if (isClosed || database.isTooOld()) throw new StoppedError("The host removes nothing any more, or not now.");
    const startedAt = performance.now();
    const result = await work();
    await delay(performance.now() - startedAt);
    return result;
  };

  const runNow = async (): Promise<void> => {
    if (database.isTooOld()) return;
    const at = await now();
    for (const { name, run } of tasks) {
      try {
        const removed = await oneHostAtATime(database, lock, () => run(at, step));
        if (removed !== undefined && removed > 0) log.info({ kind: name, removed }, "old rows removed");
      } catch (error) {
        if (error instanceof StoppedError) return;
        log.error({ kind: name, ...errorFacts(error) }, failed);
      }
    }
  };
  const tryToRun = (): Promise<void> => {
    waiting = undefined;
    return runNow().catch((error: unknown) => log.error(errorFacts(error), failed));
  };
  // However often it is called meanwhile, one more run is enough to find everything.
  const run = (): Promise<void> => (waiting ??= running = running.then(tryToRun));

  return {
    run,
    start: () => void (timer = setInterval(() => void run(), hourMs)),
    async close() {
      isClosed = true;
      clearInterval(timer);
      await running;
    },
  };
}

/** The task that removes a kind of row. */
export function removeOld({ name, retainMs, removeSome }: RetentionKind): RetentionTask {
  return {
    name,
    async run(now, step) {
      const before = new Date(now.getTime() - retainMs).toISOString();
      let [removed, last] = [0, rowsAtOnce];
      while (last === rowsAtOnce) {
        last = await step(() => removeSome(before, rowsAtOnce));
        removed += last;
      }
      return removed;
    },
  };
}

/** Undefined when another host does the work. A host whose connection breaks meanwhile continues, which does no harm. */
async function oneHostAtATime<T>(
  { db, isShared }: Database,
  lock: number,
  work: () => Promise<T>,
): Promise<T | undefined> {
  if (!isShared) return work();
  return db.transaction().execute(async (transaction) => {
    const take = sql<{ held: boolean }>`select pg_try_advisory_xact_lock(${lock}, 0) as held`;
    const [answer] = (await take.execute(transaction)).rows;
    return answer?.held === true ? work() : undefined;
  });
}
