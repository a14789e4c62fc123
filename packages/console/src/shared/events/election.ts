import type { Election } from "./tab.ts";

/** What is used of Web Locks, which browsers have where a page came by https, or from the machine itself. */
export type Locks = Pick<LockManager, "request">;

/** The tab that holds the lock leads. The browser passes it on when a tab is closed or crashes. */
export function electByLock(locks: Locks, name: string): Election {
  const hold = (lead: () => () => void, options: LockOptions, withdraw: () => void): (() => void) => {
    let isOver = false;
    let release = (): void => {};
    let lose = (): void => {};
    const holding = locks.request(name, options, () => {
      if (isOver) return undefined;
      lose = lead();
      return new Promise<void>((resolve) => (release = resolve));
    });
    // It fails when another tab took the lock, and when this one no longer waits for it.
    holding.catch(() => !isOver && lose());
    return () => {
      isOver = true;
      withdraw();
      release();
    };
  };
  return {
    wait(lead) {
      const waiting = new AbortController();
      return hold(lead, { signal: waiting.signal }, () => waiting.abort());
    },
    take: (lead) => hold(lead, { steal: true }, () => {}),
  };
}
