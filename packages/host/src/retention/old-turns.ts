import { sql, type Transaction } from "kysely";
import { limitRows, type Database, type Schema } from "../storage/index.ts";

/** A turn has tens of entries and may have thousands. */
const turnsAtOnce = 20;

/**
 * Removes the journals of turns that ended before an instant, up to `most` rows of entries. The states of the turns remain.
 * Returns how many rows were removed, and `most` when there may be more.
 */
export function forgetEndedTurns(database: Database, before: string, most: number): Promise<number> {
  return database.db.transaction().execute(async (transaction) => {
    const ended = await transaction
      .selectFrom("turns")
      .select("id")
      .where(sql<boolean>`completed_at is not null and is_forgotten = 0`)
      .where("completed_at", "<", before)
      .orderBy("completed_at")
      .limit(turnsAtOnce)
      .execute();
    const ids = ended.map(({ id }) => id);
    const removed = await removeEntries(database, transaction, ids, most);
    if (ids.length === 0 || removed === most) return removed;
    await transaction
      .updateTable("turns")
      .set({ is_forgotten: 1, events: 0, content: null })
      .where("id", "in", ids)
      .execute();
    return ids.length === turnsAtOnce ? most : removed;
  });
}

/** Removes turns of a tenant with their journals, up to `most` rows of entries. Returns how many rows were removed. */
export async function removeSomeTurns(
  database: Database,
  transaction: Transaction<Schema>,
  namespaceId: string,
  most: number,
): Promise<number> {
  const turns = transaction
    .selectFrom("turns")
    .select("id")
    .where("namespace_id", "=", namespaceId)
    .orderBy("id")
    .limit(turnsAtOnce);
  // Waits for a run that is writing to one of them, so that what it writes is removed too.
  const rows = await (database.kind === "postgres" ? turns.forUpdate() : turns).execute();
  const ids = rows.map(({ id }) => id);
  const removed = await removeEntries(database, transaction, ids, most);
  if (ids.length === 0 || removed === most) return removed;
  await transaction.deleteFrom("turn_questions").where("turn", "in", ids).execute();
  await transaction.deleteFrom("turns").where("id", "in", ids).execute();
  return removed + ids.length;
}

async function removeEntries(
  database: Database,
  transaction: Transaction<Schema>,
  ids: readonly string[],
  most: number,
): Promise<number> {
  if (ids.length === 0) return 0;
  const few = limitRows(database, "turn_entries", sql`turn in (${sql.join(ids)})`, most);
  return Number((await transaction.deleteFrom("turn_entries").where(few).executeTakeFirst()).numDeletedRows);
}
