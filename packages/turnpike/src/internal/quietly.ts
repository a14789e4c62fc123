/** Calls an observer and drops what it throws or rejects with, because no caller is left to handle it. */
export function quietly(observe: () => unknown): void {
  try {
    const told = observe();
    if (told instanceof Promise) told.catch(() => {});
  } catch {
    // No caller is left to handle it.
  }
}
