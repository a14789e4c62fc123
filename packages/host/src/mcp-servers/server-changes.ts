import type { ChangedList } from "./server-lists.ts";

/** Whose list changed: that of one connection to a server, or without a key those of all connections to it. */
interface ChangedServer {
  server: string;
  connection?: string | undefined;
  /** Reads the list again before the listeners are called. */
  refresh?: () => void;
}

/** Tells listeners that a list of a server has changed. */
export interface ServerChanges {
  tell(changed: ChangedServer, kind: ChangedList): void;
  /** Listens until the function that is returned is called. */
  listen(listener: (changed: ChangedServer, kind: ChangedList) => void): () => void;
}

/** Listeners are called at most this often, however often a server says that a list changed. */
const everyMs = 1000;

/** Calls listeners at the first change at once, and once for all changes that follow it. */
export function createServerChanges(): ServerChanges {
  const listeners = new Set<(changed: ChangedServer, kind: ChangedList) => void>();
  /** The changes of which listeners were told just now, and whether there was another one since. */
  const told = new Map<string, { isAgain: boolean }>();
  const tell = (changed: ChangedServer, kind: ChangedList): void => {
    const key = JSON.stringify([changed.server, changed.connection, kind]);
    const last = told.get(key);
    if (last !== undefined) {
      last.isAgain = true;
      return;
    }
    const now = { isAgain: false };
    told.set(key, now);
    setTimeout(() => {
      told.delete(key);
      if (now.isAgain) tell(changed, kind);
    }, everyMs).unref();
    changed.refresh?.();
    for (const listener of listeners) listener(changed, kind);
  };
  return {
    tell,
    listen(listener) {
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
  };
}
