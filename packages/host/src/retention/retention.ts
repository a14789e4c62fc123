import { setTimeout as delay } from "node:timers/promises";
import { sql } from "kysely";
import { errorFacts, type Log } from "../observe/index.ts";
import type { Database } from "../storage/index.ts";
import type { RetentionKind } from "./retention-kinds.ts";

/**
 * Does one short piece of work, then rests for as long as that took: calls get at least half of the time of the one thread,
 * or of the locks, that they write with. Throws a `ClosingError` when the host closes.
 */
export type RunStep = <T>(work: () => Promise<T>) => Promise<T>;

/** Removes something that is old by now, step by step, and returns how many rows went. */
export interface RetentionTask {
  name: string;
  run(now: Date, step: RunStep): Promise<number>;
}

/** Removes what was kept for long enough, in the background. */
export interface Retention {
  /** Removes everything that is old by now. What fails is logged, and done the next time. */
  run(): Promise<void>;
  /** Runs every hour for as long as the host runs. */
  start(): void;
  /** Stops that after the step that runs. */
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

class ClosingError extends Error {
  override readonly name = "ClosingError";
}

/** The locks of the tasks of a host: by their age rows go under one, and with their tenant under the other. */
export const retentionLocks = { age: 7446, tenant: 7448 };
const rowsAtOnce = 200;
const hourMs = 3_600_000;

/**
 * Retention of one host. Rows go a few at a time, each time in a transaction of its own, so a host that is killed has
 * removed some and goes on with the rest later.
 */
export function createRetention({ database, tasks, log, now, lock }: RetentionOptions): Retention {
  let timer: NodeJS.Timeout | undefined;
  let running: Promise<void> = Promise.resolve();
  /** The run that has not begun yet. */
  let waiting: Promise<void> | undefined;
  let isClosed = false;

  const step: RunStep = async (work) => {
    if (isClosed) throw new ClosingError("The host closes.");
    const startedAt = performance.now();
    const result = await work();
    await delay(performance.now() - startedAt);
    return result;
  };

  const runNow = async (): Promise<void> => {
    const at = await now();
    for (const { name, run } of tasks) {
      try {
        const removed = await oneHostAtATime(database, lock, () => run(at, step));
        if (removed !== undefined && removed > 0) log.info({ kind: name, removed }, "old rows removed");
      } catch (error) {
        if (error instanceof ClosingError) return;
        log.error({ kind: name, ...errorFacts(error) }, "old rows not removed");
      }
    }
  };
  const tryToRun = (): Promise<void> => {
    waiting = undefined;
    return runNow().catch((error: unknown) => log.error(errorFacts(error), "old rows not removed"));
  };
  // However often it is called meanwhile, one more run looks at everything.
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
export function removeOld({ name, keepMs, removeSome }: RetentionKind): RetentionTask {
  return {
    name,
    async run(now, step) {
      const before = new Date(now.getTime() - keepMs).toISOString();
      let [removed, last] = [0, rowsAtOnce];
      while (last === rowsAtOnce) {
        last = await step(() => removeSome(before, rowsAtOnce));
        removed += last;
      }
      return removed;
    },
  };
}

/** Undefined when another host is at it. A host whose connection breaks meanwhile goes on, which does no harm. */
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
