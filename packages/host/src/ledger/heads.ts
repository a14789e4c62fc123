import type { TenantHead } from "./chain.ts";

/** The head that a batch wrote, and the one before it. */
interface Continued {
  before: TenantHead | undefined;
  head: TenantHead;
}

/** The heads that this process committed and that `take` has not returned yet. */
export interface HeadLog {
  add(continued: readonly Continued[]): void;
  /** The heads that this process wrote, whatever the database has now. For a chain that others changed, also the head before that. */
  take(): TenantHead[];
  readonly size: number;
}

export function createHeadLog(): HeadLog {
  const newest = new Map<string, TenantHead>();
  const replaced: TenantHead[] = [];
  return {
    add(continued) {
      for (const { before: base, head } of continued) {
        const name = `${head.strand} ${head.namespaceId}`;
        const known = newest.get(name);
        // Another host may have continued this chain, or it may have been replaced: only the rows can tell.
        if (known !== undefined && base?.hash !== known.hash) replaced.push(known);
        newest.set(name, head);
      }
    },
    take() {
      const heads = [...replaced, ...newest.values()];
      replaced.length = 0;
      newest.clear();
      return heads;
    },
    get size() {
      return replaced.length + newest.size;
    },
  };
}
