import type { TurnEvent } from "turnpike/contracts";
import type { TurnReader } from "./read-turns.ts";
import type { TurnNews } from "./turn-news.ts";
import type { TurnRow } from "./turn-rows.ts";

/** What following uses. */
export interface FollowParts {
  reader: TurnReader;
  news: TurnNews;
  /** Fires when the host stops. Followers continue at its next start, or at another host. */
  closes: AbortSignal;
}

const rowsAtOnce = 100;

/** The events of a turn after a cursor, and new ones until it has ended. */
export async function* followTurn(
  { reader, news, closes }: FollowParts,
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
      // The state is read first, because a turn writes all of its events before or with its end.
      const row = await reader.byId(turn.id);
      const events = await reader.eventsAfter(turn.id, cursor, rowsAtOnce);
      for (const { position, event } of events) {
        signal.throwIfAborted();
        cursor = { position, sequence: event.sequence };
        yield event;
      }
      // Each row has at least one event, so fewer events than requested rows are the last ones.
      if (events.length >= rowsAtOnce) continue;
      if (row === undefined || row.completed_at !== null || closes.aborted) return;
      // oxlint-disable-next-line typescript/no-unnecessary-condition -- the listener sets it
      if (isNew) continue;
      signal.throwIfAborted();
      await pause(signal, (resume) => (wake = resume));
    }
  } finally {
    close();
    closes.removeEventListener("abort", onClose);
  }
}

/** Resolves when it is resumed. Rejects with the reason of the signal. */
function pause(signal: AbortSignal, onWake: (resume: () => void) => void): Promise<void> {
  return new Promise((resolve, reject) => {
    const onAbort = (): void => reject(signal.reason as Error);
    signal.addEventListener("abort", onAbort);
    onWake(() => {
      signal.removeEventListener("abort", onAbort);
      resolve();
    });
  });
}
