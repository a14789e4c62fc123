import type { TurnReader } from "./read-turns.ts";
import type { TurnId } from "./turn-rows.ts";

/** Tells those who follow turns that there may be something to read. */
export interface TurnNews {
  /** Something of a turn was kept by this process. */
  tell(id: TurnId): void;
  /** Returns the function that ends it. */
  listen(id: TurnId, listener: () => void): () => void;
}

interface Followed {
  listeners: Set<() => void>;
  /** What a look last saw of the turn. */
  seen?: string | undefined;
}

const lookMs = 300;
/** A turn that runs here tells of itself; it may have been lost to another host, which is rare. */
const looksUntilOwn = 10;
/** How many turns one statement looks at. */
const atOnce = 500;

/**
 * Looks for what other hosts kept of turns that are followed here: at all of them together, because thousands of turns may
 * wait for a person, each with somebody who follows it.
 */
export function createTurnNews(
  { progressOf }: Pick<TurnReader, "progressOf">,
  runsHere: (id: TurnId) => boolean,
): TurnNews {
  const followed = new Map<TurnId, Followed>();
  let timer: NodeJS.Timeout | undefined;
  let looks = 0;

  const tell = (id: TurnId): void => {
    for (const listener of followed.get(id)?.listeners ?? []) listener();
  };
  const lookAt = async (ids: readonly TurnId[]): Promise<void> => {
    const found = await progressOf(ids);
    for (const id of ids) {
      const turn = followed.get(id);
      const seen = found.get(id) ?? "gone";
      if (turn === undefined || turn.seen === seen) continue;
      turn.seen = seen;
      tell(id);
    }
  };
  const look = async (): Promise<void> => {
    looks += 1;
    const ids = [...followed.keys()].filter((id) => looks % looksUntilOwn === 0 || !runsHere(id));
    try {
      for (let from = 0; from < ids.length; from += atOnce) await lookAt(ids.slice(from, from + atOnce));
    } catch {
      // Whoever reads for itself finds out what is wrong, and says so to its caller.
      ids.forEach(tell);
    }
    timer = undefined;
    if (followed.size > 0) lookLater();
  };
  const lookLater = (): void => {
    timer ??= setTimeout(() => void look(), lookMs).unref();
  };

  return {
    tell,
    listen(id, listener) {
      const turn = followed.get(id) ?? { listeners: new Set() };
      turn.listeners.add(listener);
      followed.set(id, turn);
      lookLater();
      return () => {
        turn.listeners.delete(listener);
        if (turn.listeners.size === 0 && followed.get(id) === turn) followed.delete(id);
      };
    },
  };
}
