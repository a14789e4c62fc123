import { ServiceHttpError, type ServiceApi } from "turnpike/http";
import { TurnPause } from "turnpike/runtime";
import { isCausedBy } from "../shared/index.ts";
import { type Database, OutdatedHostError } from "../storage/index.ts";
import type { TurnJournalStore } from "./journal/journal-store.ts";

/** What a host does while its version is too old for its database. */
export interface OutdatedHost {
  /** The same api, refusing these operations while the host is outdated. */
  refuseNew<Name extends keyof ServiceApi>(api: ServiceApi, names: readonly Name[]): ServiceApi;
  /** The same api, counting each turn as under way until it ends or pauses. */
  watchRuns(api: ServiceApi): ServiceApi;
  start(): void;
  close(): void;
}

export interface OutdatedHostOptions {
  database: Pick<Database, "isTooOld" | "showDrained">;
  journal: Pick<TurnJournalStore, "letGo" | "resume" | "stopAll">;
  /** Called when the host has become too old, and when it may serve again. */
  onChange(isTooOld: boolean): void;
  onError(error: unknown): void;
}

const pollMs = 500;
/** How long turns that run have to end. */
const graceMs = 30_000;

/** Why a host that is too old is not ready, for anyone. */
export const outdatedReason =
  "A newer version of Turnpike serves the database. This host finishes what it does, and begins nothing.";

/**
 * Makes a host leave the database to a newer version: it finishes and stores the calls that run, lets asynchronous turns go between two of
 * their entries, and begins nothing new. It serves again when the database says that it may.
 */
export function createOutdatedHost({ database, journal, onChange, onError }: OutdatedHostOptions): OutdatedHost {
  const running = new Set<object>();
  let since: number | undefined;
  let isStopped = false;
  let isClosed = false;
  let timer: NodeJS.Timeout | undefined;

  const track = async <T>(run: () => Promise<T>): Promise<T> => {
    const mine = {};
    running.add(mine);
    try {
      return await run();
    } finally {
      running.delete(mine);
    }
  };
  const poll = async (): Promise<void> => {
    const isTooOld = database.isTooOld();
    if (isTooOld !== (since !== undefined)) {
      since = isTooOld ? performance.now() : undefined;
      isStopped = false;
      onChange(isTooOld);
      if (!isTooOld) journal.resume();
    }
    if (since === undefined) return;
    await journal.letGo();
    if (isStopped || performance.now() - since < graceMs) return;
    isStopped = true;
    journal.stopAll(new TurnPause(outdatedReason, { cause: new Error("The turn did not end in time.") }));
  };
  const pollAgain = (): void => {
    if (isClosed) return;
    timer = setTimeout(() => void poll().catch(onError).finally(pollAgain), pollMs).unref();
  };
  database.showDrained(() => database.isTooOld() && running.size === 0);

  return {
    refuseNew(api, names) {
      const wrapped = names.map((name) => {
        const operation = api[name] as (...given: unknown[]) => Promise<unknown>;
        const refusing = (...given: unknown[]): Promise<unknown> => {
          if (database.isTooOld()) return Promise.reject(outdated());
          return track(() => operation(...given)).catch((error: unknown) => {
            // A host that was paused may learn it only when it writes.
            throw isCausedBy(error, OutdatedHostError) ? outdated(error) : error;
          });
        };
        return [name, refusing];
      });
      return { ...api, ...(Object.fromEntries(wrapped) as Partial<ServiceApi>) };
    },
    watchRuns: (api) => ({ ...api, executeTurn: (...given) => track(() => api.executeTurn(...given)) }),
    start: pollAgain,
    close() {
      isClosed = true;
      clearTimeout(timer);
    },
  };
}

function outdated(cause?: unknown): ServiceHttpError {
  return new ServiceHttpError(503, "overloaded", outdatedReason, { cause, headers: { "retry-after": "1" } });
}
