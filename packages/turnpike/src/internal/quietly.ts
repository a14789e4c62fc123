/** Calls an observer: what it throws, or rejects with, has nobody left to go to. */
export function quietly(observe: () => unknown): void {
  try {
    const told = observe();
    if (told instanceof Promise) told.catch(() => {});
  } catch {
    // See above.
  }
}
