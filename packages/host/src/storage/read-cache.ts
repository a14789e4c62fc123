import type { Revisions } from "./revisions.ts";

const maxEntries = 50_000;

/** Keeps what was read until the revision changes. */
export interface ReadCache {
  /**
   * What was read under this key, or else what `read` finds; it is told what was found under an older revision, of which it may
   * use what is still so. A key is a word for what is read and the texts it is found by, the texts of columns before a NUL,
   * which none of them has: writing JSON would cost more than everything else here.
   */
  get<T>(key: string, read: (before: T | undefined) => Promise<T>): Promise<T>;
}

interface Kept {
  revision: number;
  value: unknown;
}

/** INVARIANT: a value is for those alone who ask under the revision that was in force before it was read. */
export function createReadCache(revisions: Revisions): ReadCache {
  const entries = new Map<string, Kept>();
  /** Reads on their way, by key: whoever asks for the same meanwhile waits with them. */
  const reading = new Map<string, { revision: number; value: Promise<unknown> }>();
  let newest = -1;

  const keep = (key: string, kept: Kept): void => {
    const known = entries.get(key);
    // What is not there is asked for again: nobody can fill the cache with names of nothing.
    if (kept.value === undefined || (known !== undefined && known.revision > kept.revision)) return;
    if (known === undefined && entries.size >= maxEntries) entries.clear();
    entries.set(key, kept);
  };
  const begin = async <T>(key: string, revision: number, read: (before: T | undefined) => Promise<T>): Promise<T> => {
    const value = read(entries.get(key)?.value as T | undefined);
    const mine = { revision, value };
    reading.set(key, mine);
    try {
      const found = await value;
      // A database that was put back to an older state counts on from there, and may come to the same number.
      if (newest >= revision) keep(key, { revision, value: found });
      return found;
    } finally {
      if (reading.get(key) === mine) reading.delete(key);
    }
  };
  return {
    async get<T>(key: string, read: (before: T | undefined) => Promise<T>): Promise<T> {
      const current = revisions.current();
      const revision = typeof current === "number" ? current : await current;
      if (revision < newest) {
        entries.clear();
        reading.clear();
      }
      newest = revision;
      const known = entries.get(key);
      if (known?.revision === revision) return known.value as T;
      const begun = reading.get(key);
      return begun?.revision === revision ? (begun.value as Promise<T>) : begin(key, revision, read);
    },
  };
}
