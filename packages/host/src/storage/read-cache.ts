import type { Revisions } from "./revisions.ts";

const maxEntries = 50_000;

/** Caches what was read until the revision changes. */
export interface ReadCache {
  /**
   * The cached value of this key, or else what `read` finds. `read` gets the value of an older revision, and may reuse the parts
   * that did not change. A key is a word for what is read, and column texts separated by NUL, which no column text has. JSON
   * would be slower than everything else here.
   */
  get<T>(key: string, read: (before: T | undefined) => Promise<T>): Promise<T>;
}

interface CacheEntry {
  revision: number;
  value: unknown;
}

/**
 * INVARIANT: a value is returned only while the revision is the one that was current before the value was read; to a call that
 * assumes a revision, only if it is that one. A value that was read from another server is returned no more: that server may have had
 * what this one lost, and this one may count up to the same revision again.
 */
export function createReadCache(revisions: Pick<Revisions, "current" | "assumed" | "era">): ReadCache {
  const entries = new Map<string, CacheEntry>();
  /** Pending reads by key. Callers who need the same value share one read. */
  const reading = new Map<string, { revision: number; value: Promise<unknown> }>();
  let newest = -1;
  let { era } = revisions;

  const forget = (): void => {
    entries.clear();
    reading.clear();
    ({ era } = revisions);
  };

  const store = (key: string, entry: CacheEntry): void => {
    const known = entries.get(key);
    // A missing value is not cached, so that callers cannot fill the cache with names of nothing.
    if (entry.value === undefined || (known !== undefined && known.revision > entry.revision)) return;
    if (known === undefined && entries.size >= maxEntries) entries.clear();
    entries.set(key, entry);
  };
  const begin = async <T>(key: string, revision: number, read: (before: T | undefined) => Promise<T>): Promise<T> => {
    const { era: begunIn } = revisions;
    const value = read(entries.get(key)?.value as T | undefined);
    const mine = { revision, value };
    reading.set(key, mine);
    try {
      const found = await value;
      // A database that was restored to an older state counts on from there, and may reach the same revision again.
      if (newest >= revision && begunIn === revisions.era) store(key, { revision, value: found });
      return found;
    } finally {
      if (reading.get(key) === mine) reading.delete(key);
    }
  };
  return {
    async get<T>(key: string, read: (before: T | undefined) => Promise<T>): Promise<T> {
      if (revisions.era !== era) forget();
      const assumed = revisions.assumed();
      if (assumed !== undefined) {
        const cached = entries.get(key);
        if (cached?.revision === assumed) return cached.value as T;
      }
      const current = revisions.current();
      const revision = typeof current === "number" ? current : await current;
      if (revision < newest || revisions.era !== era) forget();
      newest = revision;
      const known = entries.get(key);
      if (known?.revision === revision) return known.value as T;
      const begun = reading.get(key);
      return begun?.revision === revision ? (begun.value as Promise<T>) : begin(key, revision, read);
    },
  };
}
