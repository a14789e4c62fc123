import { sql } from "kysely";
import { permitUse } from "../ledger/index.ts";
import { limitRows, type Database } from "../storage/index.ts";

/**
 * Removes up to `most` escalations that expired before an instant, answered or not; an answer comes before the expiry. The
 * uses of their permits are removed with them: a permit is never there without its use.
 */
export function removeOldEscalations(database: Database, before: string, most: number): Promise<number> {
  return database.db.transaction().execute(async (transaction) => {
    const removed = await transaction
      .deleteFrom("escalations")
      .where(limitRows(database, "escalations", sql`expires_at < ${before}`, most))
      .returning(["namespace_id", "id", "permit_expires_at"])
      .execute();
    for (const tenant of new Set(removed.map(({ namespace_id }) => namespace_id))) {
      const ids = removed.flatMap(({ namespace_id, id }) => (namespace_id === tenant ? id : []));
      const answers = transaction.deleteFrom("escalation_answers").where("namespace_id", "=", tenant);
      await answers.where("escalation_id", "in", ids).execute();
    }
    const permits = removed.filter(({ permit_expires_at: end }) => end !== null);
    for (const tenant of new Set(permits.map(({ namespace_id }) => namespace_id))) {
      const names = permits.flatMap(({ namespace_id, id }) =>
        namespace_id === tenant ? permitUse({ namespaceId: tenant, id }).grantId : [],
      );
      await transaction.deleteFrom("uses").where("namespace_id", "=", tenant).where("grant_id", "in", names).execute();
    }
    return removed.length;
  });
}
