import type { TenantHead } from "./chain.ts";

/** The head that a batch left, and the one that it went on from. */
interface Continued {
  before: TenantHead | undefined;
  head: TenantHead;
}

/** The heads that this process committed and nobody has taken yet. */
export interface HeadLog {
  add(continued: readonly Continued[]): void;
  /** What this process wrote, whatever the database has now. A chain that others changed has its head from before it too. */
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
        // Another host may have gone on from what this one wrote, or somebody made another chain of it: only the rows can tell.
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
