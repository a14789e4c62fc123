import type { UsageStore } from "turnpike/kernel";
import { columnText } from "../database/column-text.ts";
import type { Database } from "../database/database.ts";

/** Counts uses in one statement each, so that no two hosts can take the same one. */
export function createUsageStore({ db }: Database): UsageStore {
  return {
    async used(namespaceId, grantId) {
      const row = await db
        .selectFrom("uses")
        .select("used")
        .where("namespace_id", "=", columnText(namespaceId))
        .where("grant_id", "=", columnText(grantId))
        .executeTakeFirst();
      return row?.used ?? 0;
    },
    async consume(namespaceId, grantId, maxUses) {
      const counted = await db
        .insertInto("uses")
        .values({ namespace_id: columnText(namespaceId), grant_id: columnText(grantId), used: 1 })
        .onConflict((conflict) =>
          conflict
            .columns(["namespace_id", "grant_id"])
            .doUpdateSet((row) => ({ used: row("uses.used", "+", 1) }))
            .where("uses.used", "<", maxUses),
        )
        .returning("used")
        .executeTakeFirst();
      return counted !== undefined;
    },
  };
}
