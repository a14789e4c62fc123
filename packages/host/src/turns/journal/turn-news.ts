import type { TurnReader } from "./read-turns.ts";
import type { TurnId } from "./turn-rows.ts";

/** Tells followers of turns that there may be something to read. */
export interface TurnNews {
  /** This process wrote something of a turn. */
  tell(id: TurnId): void;
  /** Returns the function that ends it. */
  listen(id: TurnId, listener: () => void): () => void;
}

interface Followed {
  listeners: Set<() => void>;
  /** What the last poll read of the turn. */
  seen?: string | undefined;
}

const pollMs = 300;
/** Turns that run here notify their followers, so they are polled less often: they may have been lost to another host. */
const pollsUntilOwn = 10;
/** How many turns one statement reads. */
const atOnce = 500;

/**
 * Polls for what other hosts wrote of turns that are followed here. It reads all of them together, because thousands of turns
 * may wait for a person, each with a follower.
 */
export function createTurnNews(
  { progressOf }: Pick<TurnReader, "progressOf">,
  runsHere: (id: TurnId) => boolean,
): TurnNews {
  const followed = new Map<TurnId, Followed>();
  let timer: NodeJS.Timeout | undefined;
  let polls = 0;

  const tell = (id: TurnId): void => {
    for (const listener of followed.get(id)?.listeners ?? []) listener();
  };
  const pollSome = async (ids: readonly TurnId[]): Promise<void> => {
    const found = await progressOf(ids);
    for (const id of ids) {
      const turn = followed.get(id);
      const seen = found.get(id) ?? "gone";
      if (turn === undefined || turn.seen === seen) continue;
      turn.seen = seen;
      tell(id);
    }
  };
  const poll = async (): Promise<void> => {
    polls += 1;
    const ids = [...followed.keys()].filter((id) => polls % pollsUntilOwn === 0 || !runsHere(id));
    try {
      for (let from = 0; from < ids.length; from += atOnce) await pollSome(ids.slice(from, from + atOnce));
    } catch {
      // Each follower then reads by itself, and reports the error to its caller.
      ids.forEach(tell);
    }
    timer = undefined;
    if (followed.size > 0) pollLater();
  };
  const pollLater = (): void => {
    timer ??= setTimeout(() => void poll(), pollMs).unref();
  };

  return {
    tell,
    listen(id, listener) {
      const turn = followed.get(id) ?? { listeners: new Set() };
      turn.listeners.add(listener);
      followed.set(id, turn);
      pollLater();
      return () => {
        turn.listeners.delete(listener);
        if (turn.listeners.size === 0 && followed.get(id) === turn) followed.delete(id);
      };
    },
  };
}
