import type { GrantPlace, GrantStore } from "../grants/index.ts";
import type { RetentionTask } from "./retention.ts";

const dayMs = 86_400_000;
const grantsAtOnce = 200;

/** The task that removes grants that ended long ago. All are looked at, because their ends are within them. */
export function removeEndedGrants(grants: Pick<GrantStore, "removeEnded">, keepDays: number): RetentionTask {
  return {
    name: "ended grants",
    async run(now, step) {
      const before = new Date(now.getTime() - keepDays * dayMs);
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
