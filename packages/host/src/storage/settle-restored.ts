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
 * single acts lapse, and sessions, codes and refresh tokens end. On request, every credential is revoked.
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
    for (const table of ended) await transaction.deleteFrom(table).execute();
    const revokedCredentials = isRevoking ? await revokeAllCredentials(transaction, at) : 0;
    return { cancelledTurns: Number(turns.numUpdatedRows), revokedCredentials };
  });
}

/** What browsers and clients hold of it may have been used since the backup, or ended. Clients ask their people again. */
const ended = [
  "sessions",
  "one_time_codes",
  "authorization_requests",
  "authorization_codes",
  "connection_tokens",
] as const;

/** Revokes every token that hosts made. Returns how many. */
export async function revokeAllCredentials(transaction: Transaction<Schema>, at: string): Promise<number> {
  const credentials = transaction.updateTable("credentials").set({ revoked_at: at }).where("revoked_at", "is", null);
  return Number((await credentials.executeTakeFirst()).numUpdatedRows);
}
