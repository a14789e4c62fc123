/** Lets one holder in at a time, in the order in which they came. */
export interface Mutex {
  /** Resolves with the function that releases it. */
  acquire(): Promise<() => void>;
}

export function createMutex(): Mutex {
  let last = Promise.resolve();
  return {
    acquire() {
      const before = last;
      let release: () => void = () => {};
      last = new Promise((resolve) => (release = resolve));
      return before.then(() => release);
    },
  };
}
