import type { GrantPlace, GrantStore } from "../grants/index.ts";
import type { RetentionTask } from "./retention.ts";

const dayMs = 86_400_000;
const grantsAtOnce = 200;

/** The task that removes grants that ended long ago. It reads all grants, because their end is part of their content. */
export function removeEndedGrants(grants: Pick<GrantStore, "removeEnded">, retainDays: number): RetentionTask {
  return {
    name: "ended grants",
    async run(now, step) {
      const before = new Date(now.getTime() - retainDays * dayMs);
      let removed = 0;
      let place: GrantPlace | undefined;
      do {
        const page = await step(() => grants.removeEnded(before, place, grantsAtOnce));
        removed += page.removed;
        place = page.next;
      } while (place !== undefined);
      return removed;
    },
  };
}
