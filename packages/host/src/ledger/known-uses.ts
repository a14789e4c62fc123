import { nameOfUse, type CountedUse, type Use } from "./submission.ts";

/**
 * How often uses were taken, as far as this host knows. A batch is decided on that without reading first, and its write compares it.
 * What is not known counts as not taken yet: of a permit that is so.
 */
export interface KnownUses {
  readonly counts: ReadonlyMap<string, number>;
  /** Whether another host takes one of these as well, so that what is known of it is most likely outdated. */
  areContested(uses: readonly Omit<Use, "maxUses">[]): boolean;
  /** Says what was read of uses. Those that were another number than what is known are contested, until they are that number once. */
  read(uses: readonly Omit<Use, "maxUses">[], found: ReadonlyMap<string, number>): void;
  /** Says what was committed. */
  wrote(uses: readonly CountedUse[]): void;
}

/** How many uses are remembered. */
const maxUses = 10_000;

export function createKnownUses(): KnownUses {
  const counts = new Map<string, number>();
  const contested = new Set<string>();
  const remember = (name: string, used: number): void => {
    if (counts.size >= maxUses) {
      counts.clear();
      contested.clear();
    }
    counts.set(name, used);
  };
  return {
    counts,
    areContested: (uses) => contested.size > 0 && uses.some((use) => contested.has(nameOfUse(use))),
    read(uses, found) {
      for (const use of uses) {
        const name = nameOfUse(use);
        const used = found.get(name) ?? 0;
        if (counts.has(name) && counts.get(name) !== used) contested.add(name);
        else contested.delete(name);
        remember(name, used);
      }
    },
    wrote(uses) {
      for (const use of uses) remember(nameOfUse(use), use.used);
    },
  };
}
