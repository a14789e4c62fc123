import type { Transaction } from "kysely";
import type { Database } from "./database.ts";
import { lapsePermits } from "./lapse-permits.ts";
import type { Schema } from "./schema.ts";

/** What was changed in a database that was restored. */
export interface Settled {
  cancelledTurns: number;
  revokedCredentials: number;
}

/**
 * What happened after the backup is not known, and none of it may happen a second time. So turns are not resumed, approvals of
 * single acts lapse, and sessions and codes of browsers end. On request, every credential is revoked.
 */
export function settleRestored(db: Database["db"], at: string, isRevoking: boolean): Promise<Settled> {
  return db.transaction().execute(async (transaction) => {
    const turns = await transaction
      .updateTable("turns")
      .set({ is_cancelled: 1, status: "running", waiting: null, host_id: null, updated_at: at })
      .where("completed_at", "is", null)
      .executeTakeFirst();
    await transaction.deleteFrom("turn_questions").execute();
    await lapsePermits(transaction, at);
    for (const table of ["sessions", "one_time_codes"] as const) await transaction.deleteFrom(table).execute();
    const revokedCredentials = isRevoking ? await revokeAllCredentials(transaction, at) : 0;
    return { cancelledTurns: Number(turns.numUpdatedRows), revokedCredentials };
  });
}

/** Revokes every token that hosts made. Returns how many. */
export async function revokeAllCredentials(transaction: Transaction<Schema>, at: string): Promise<number> {
  const credentials = transaction.updateTable("credentials").set({ revoked_at: at }).where("revoked_at", "is", null);
  return Number((await credentials.executeTakeFirst()).numUpdatedRows);
}
