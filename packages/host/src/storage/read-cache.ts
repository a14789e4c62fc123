import type { Revisions } from "./revisions.ts";

const maxEntries = 50_000;

/** Keeps what was read until the revision changes. */
export interface ReadCache {
  /**
   * What was read under this key, or else what `read` finds. A key is a word for what is read and the texts it is found by, the
   * texts of columns before a NUL, which none of them has: writing JSON would cost more than everything else here.
   */
  get<T>(key: string, read: () => Promise<T>): Promise<T>;
}

/** INVARIANT: a value is kept only if the revision before it was read still is the one of the cache afterwards. */
export function createReadCache(revisions: Revisions): ReadCache {
  const entries = new Map<string, unknown>();
  let of = -1;
  return {
    async get<T>(key: string, read: () => Promise<T>): Promise<T> {
      const current = revisions.current();
      const revision = typeof current === "number" ? current : await current;
      if (revision !== of) {
        entries.clear();
        of = revision;
      }
      if (entries.has(key)) return entries.get(key) as T;
      const value = await read();
      // What is not there is asked for again: nobody can fill the cache with names of nothing.
      if (of === revision && value !== undefined) {
        if (entries.size >= maxEntries) entries.clear();
        entries.set(key, value);
      }
      return value;
    },
  };
}
