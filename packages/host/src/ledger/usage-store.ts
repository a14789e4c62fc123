import type { UsageStore } from "turnpike/kernel";
import { columnText } from "../shared/index.ts";
import type { Database } from "../storage/index.ts";
import type { Ledger } from "./ledger.ts";
import { grantUse } from "./submission.ts";

/** The uses of bounded grants. */
export interface HostUsageStore extends UsageStore {
  /** How often each of these grants was used, for at most 1,000 grants. Unused ones are left out. */
  usedOf(namespaceId: string, grantIds: readonly string[]): Promise<Map<string, number>>;
}

/** Uses are counted by the ledger, so that no two calls can take the same one. */
export function createUsageStore(database: Database, ledger: Ledger): HostUsageStore {
  const { db, reporting } = database;
  return {
    async usedOf(namespaceId, grantIds) {
      if (grantIds.length === 0) return new Map();
      const ids = new Map(grantIds.map((id) => [columnText(id), id]));
      const rows = await reporting
        .selectFrom("uses")
        .select(["grant_id", "used"])
        .where("namespace_id", "=", columnText(namespaceId))
        .where("grant_id", "in", [...ids.keys()])
        .execute();
      return new Map(rows.map(({ grant_id: id, used }) => [ids.get(id) ?? id, used]));
    },
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
      const uses = [grantUse({ namespaceId, grantId, maxUses })];
      const outcome = await ledger.submit({ alternatives: [{ uses, entries: [] }] });
      return outcome.kind === "written" && outcome.alternative === 0;
    },
  };
}
