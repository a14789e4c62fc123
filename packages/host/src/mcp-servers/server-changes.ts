import type { ChangedList } from "./server-lists.ts";

/** Whose list changed: the connection's of a server, or all of the server's without one. */
interface ChangedServer {
  server: string;
  connection?: string | undefined;
  /** Reads the list anew, before anybody is told. */
  refresh?: () => void;
}

/** Tells those who listen that a list of a server is another one now. */
export interface ServerChanges {
  tell(changed: ChangedServer, kind: ChangedList): void;
  /** Listens until the function that is returned is called. */
  listen(listener: (changed: ChangedServer, kind: ChangedList) => void): () => void;
}

/** However often a server says that a list changed, listeners are told of it at most this often. */
const everyMs = 1000;

/** Makes what tells listeners: the first change at once, and those that follow it together. */
export function createServerChanges(): ServerChanges {
  const listeners = new Set<(changed: ChangedServer, kind: ChangedList) => void>();
  /** The changes that were told just now, and whether there was another one since. */
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
