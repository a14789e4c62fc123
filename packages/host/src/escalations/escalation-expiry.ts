import { sql, type RawBuilder, type SqlBool, type Transaction } from "kysely";
import type { EscalationRecord } from "../admin-contract/index.ts";
import { limitRows, type Database, type Revisions, type Schema } from "../storage/index.ts";
import { isPending, recordOf } from "./escalation-rows.ts";

export interface ExpiryOptions {
  /** Called once for an escalation that expired without an answer, in the transaction that marks it. */
  onExpired?(transaction: Transaction<Schema>, record: EscalationRecord): Promise<unknown>;
}

/**
 * Marks the escalations that expired without an answer; returns how many. INVARIANT: one is told of where its row comes to say
 * so, and nowhere else, so that it is told of once.
 */
export async function markExpired(
  transaction: Transaction<Schema>,
  which: RawBuilder<SqlBool>,
  now: string,
  { onExpired }: ExpiryOptions,
): Promise<number> {
  const marked = await transaction
    .updateTable("escalations")
    .set({ status: "expired" })
    .where(which)
    .returningAll()
    .execute();
  for (const row of marked) await onExpired?.(transaction, recordOf(row, now));
  return marked.length;
}

/** Marks some that expired without an answer, of all tenants. */
export async function expireSome(
  database: Database,
  revisions: Revisions,
  { now, most }: { now: string; most: number },
  options: ExpiryOptions,
): Promise<number> {
  const isOver = sql<boolean>`${isPending} and expires_at <= ${now}`;
  const first = await database.db.selectFrom("escalations").select("id").where(isOver).limit(1).executeTakeFirst();
  if (first === undefined) return 0;
  const few = limitRows(database, "escalations", isOver, most);
  // Like an answer, so that an escalation is either answered or expired.
  return revisions.write((transaction) => markExpired(transaction, few, now, options));
}
