import { createRandom, type Random } from "../../packages/turnpike/test/random.ts";
import { groups } from "./attacks/groups.ts";
import { tryAttacks } from "./attacks/run-attack.ts";
import type { Finding, Suite } from "./suite.ts";

/** Every attack of the table, again and again, in other orders: what one of them leaves must not help another. */
export const attacks: Suite = {
  name: "attacks",
  says: "Every attack of the table is held, and its control succeeds, in whatever order they come.",
  share: 1,
  async run({ seed, isOver }) {
    const random = createRandom(seed);
    const counts = { attacks: 0, hosts: 0 };
    const findings: Finding[] = [];
    while (!isOver()) {
      const group = random.pickFrom(groups);
      if (group === undefined) break;
      const problems = await tryAttacks(group, shuffled(group.attacks, random));
      counts.hosts += 1;
      counts.attacks += group.attacks.length;
      for (const what of problems) findings.push({ what, repeat: `npm run trust -- --only attacks --seed ${seed}` });
    }
    return { counts, findings };
  },
};

function shuffled<T>(items: readonly T[], random: Random): T[] {
  return items
    .map((item) => ({ item, place: random.below(1_000_000) }))
    .toSorted((one, other) => one.place - other.place)
    .map(({ item }) => item);
}
