import type { Database } from "./database.ts";

/** What was changed in a database that was restored. */
export interface Settled {
  cancelledTurns: number;
  revokedCredentials: number;
}

/**
 * What happened after the backup is not known here, so nothing of it may happen a second time: turns do not go on, a person's yes
 * to one act has lapsed, and sessions and codes of browsers have ended; if it is wanted, every credential is revoked.
 */
export function settleRestored(db: Database["db"], at: string, isRevoking: boolean): Promise<Settled> {
  return db.transaction().execute(async (transaction) => {
    const turns = await transaction
      .updateTable("turns")
      .set({ is_cancelled: 1, status: "running", waiting: null, host_id: null, updated_at: at })
      .where("completed_at", "is", null)
      .executeTakeFirst();
    await transaction.deleteFrom("turn_questions").execute();
    const permits = transaction.updateTable("escalations").set({ permit_expires_at: at });
    await permits.where("permit_expires_at", ">", at).execute();
    for (const table of ["sessions", "one_time_codes"] as const) await transaction.deleteFrom(table).execute();
    const credentials = transaction.updateTable("credentials").set({ revoked_at: at }).where("revoked_at", "is", null);
    const revoked = isRevoking ? (await credentials.executeTakeFirst()).numUpdatedRows : 0n;
    return { cancelledTurns: Number(turns.numUpdatedRows), revokedCredentials: Number(revoked) };
  });
}
