/** A seeded source of choices: the same seed makes the same choices on every machine. */
export interface Random {
  /** An integer from 0 up to, not including, `end`. */
  below(end: number): number;
  chance(probability: number): boolean;
  pick<T>(items: readonly [T, ...T[]]): T;
  /** One of the items, or undefined when there is none. */
  pickFrom<T>(items: readonly T[]): T | undefined;
  /** At least one of the items, in their order. */
  some<T>(items: readonly T[]): T[];
}

/** mulberry32. */
export function createRandom(seed: number): Random {
  let state = seed | 0;
  const next = (): number => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 0x1_0000_0000;
  };
  const below = (end: number): number => Math.floor(next() * end);
  const pickFrom = <T>(items: readonly T[]): T | undefined => items[below(items.length)];
  return {
    below,
    chance: (probability) => next() < probability,
    pick: (items) => items[below(items.length)] ?? items[0],
    pickFrom,
    some(items) {
      const chosen = items.filter(() => next() < 0.6);
      const fallback = items.slice(below(items.length)).slice(0, 1);
      return chosen.length > 0 ? chosen : fallback;
    },
  };
}

/** A number that depends on every character of the text, for answers that must not depend on when they are given. */
export function hashOf(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1) hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193);
  return (hash ^ (hash >>> 13)) >>> 0;
}
