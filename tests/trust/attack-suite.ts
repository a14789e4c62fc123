import { createRandom, type Random } from "../../packages/turnpike/test/random.ts";
import type { Group } from "./attacks/attack.ts";
import { groups } from "./attacks/groups.ts";
import { tryAttacks } from "./attacks/run-attack.ts";
import { runWorlds, type Suite } from "./suite.ts";

/** Every attack of the table, again and again, in other orders: what one of them leaves must not help another. */
export const attacks: Suite = {
  name: "attacks",
  says: "Every attack of the table is held, and its control succeeds, in whatever order they come.",
  share: 1,
  run: (trial) =>
    runWorlds("attacks", trial, async ({ seed }) => {
      const random = createRandom(seed);
      const group = random.pickFrom(groups) as Group;
      const problems = await tryAttacks(group, shuffled(group.attacks, random));
      return { counts: { attacks: group.attacks.length, hosts: 1 }, problems };
    }),
};

function shuffled<T>(items: readonly T[], random: Random): T[] {
  return items
    .map((item) => ({ item, place: random.below(1_000_000) }))
    .toSorted((one, other) => one.place - other.place)
    .map(({ item }) => item);
}
