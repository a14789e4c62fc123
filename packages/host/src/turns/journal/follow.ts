import type { TurnEvent } from "turnpike/contracts";
import type { TurnReader } from "./read-turns.ts";
import type { TurnId, TurnRow } from "./turn-rows.ts";

/** Tells those who follow a turn that something of it was kept by this process. */
export interface TurnNews {
  tell(id: TurnId): void;
  /** Returns the function that ends it. */
  listen(id: TurnId, listener: () => void): () => void;
}

export function createTurnNews(): TurnNews {
  const listeners = new Map<TurnId, Set<() => void>>();
  return {
    tell(id) {
      for (const listener of listeners.get(id) ?? []) listener();
    },
    listen(id, listener) {
      const ofTurn = listeners.get(id) ?? new Set();
      listeners.set(id, ofTurn.add(listener));
      return () => {
        ofTurn.delete(listener);
        if (ofTurn.size === 0 && listeners.get(id) === ofTurn) listeners.delete(id);
      };
    },
  };
}

/** What following uses. */
export interface FollowParts {
  reader: TurnReader;
  news: TurnNews;
  /** Whether this process runs the turn, as far as it knows: it tells then whatever there is to read. */
  isHere(id: TurnId): boolean;
  /** Fires when the host stops: whoever follows goes on at its next start, or at another host. */
  closes: AbortSignal;
}

/** How often a turn is looked at: one that runs here may have been lost to another host, which is rare. */
const pollMs = { elsewhere: 300, here: 3000 };
const eventsAtOnce = 1000;

/** The events of a turn behind a cursor, and those that come, until it has ended. */
export async function* followTurn(
  { reader, news, isHere, closes }: FollowParts,
  turn: TurnRow,
  after: number,
  signal: AbortSignal,
): AsyncGenerator<TurnEvent> {
  let isNew = true;
  let wake = (): void => {};
  const close = news.listen(turn.id, () => {
    isNew = true;
    wake();
  });
  const onClose = (): void => wake();
  closes.addEventListener("abort", onClose);
  let cursor = { position: after, sequence: after };
  try {
    for (;;) {
      signal.throwIfAborted();
      isNew = false;
      // The state is read first: whatever a turn keeps, it keeps before or with its end.
      const row = await reader.byId(turn.id);
      const events = await reader.eventsAfter(turn.id, cursor, eventsAtOnce);
      for (const { position, event } of events) {
        signal.throwIfAborted();
        cursor = { position, sequence: event.sequence };
        yield event;
      }
      if (events.length === eventsAtOnce) continue;
      if (row === undefined || row.completed_at !== null || closes.aborted) return;
      // oxlint-disable-next-line typescript/no-unnecessary-condition -- the listener sets it
      if (isNew) continue;
      await pause(isHere(turn.id) ? pollMs.here : pollMs.elsewhere, signal, (resume) => (wake = resume));
    }
  } finally {
    close();
    closes.removeEventListener("abort", onClose);
  }
}

/** Resolves after a time, or when it is resumed. Rejects with the reason of the signal. */
function pause(ms: number, signal: AbortSignal, onWake: (resume: () => void) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => settle(resolve), ms);
    const onAbort = (): void => settle(() => reject(signal.reason as Error));
    const settle = (end: () => void): void => {
      clearTimeout(timer);
      signal.removeEventListener("abort", onAbort);
      end();
    };
    signal.addEventListener("abort", onAbort);
    onWake(() => settle(resolve));
  });
}
