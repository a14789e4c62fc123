import type { Transaction } from "kysely";
import { permitUse } from "../ledger/index.ts";
import type { EscalationRecord } from "../admin-contract/index.ts";
import type { Schema } from "../storage/index.ts";
import { writeRecord, type Reader } from "./escalation-rows.ts";

export interface WithdrawOptions {
  /** Revokes a grant in a transaction that ends the revision. */
  revokeGrant(transaction: Transaction<Schema>, namespaceId: string, grantId: string, at: string): Promise<boolean>;
  /** Called for an approval that is withdrawn, in its transaction. */
  onWithdrawn?: ((transaction: Transaction<Schema>, record: EscalationRecord) => Promise<unknown>) | undefined;
}

/** An escalation whose approval was withdrawn. */
export type WithdrawnRecord = EscalationRecord & { withdrawal: NonNullable<EscalationRecord["withdrawal"]> };

/** Whether the act that was approved has happened. */
export async function isUsed(reader: Reader, { namespaceId, id }: EscalationRecord): Promise<boolean> {
  const use = permitUse({ namespaceId, id });
  const row = await reader
    .selectFrom("uses")
    .select("used")
    .where("namespace_id", "=", use.namespaceId)
    .where("grant_id", "=", use.grantId)
    .executeTakeFirst();
  return (row?.used ?? 0) > 0;
}

/**
 * Ends what an approval allowed, and writes the record of it. False when its permit was used before: nothing is written then.
 * INVARIANT: a permit's row of uses goes from 0 to 1 once, by its use or by its withdrawal.
 */
export async function withdrawYes(
  transaction: Transaction<Schema>,
  record: WithdrawnRecord,
  { revokeGrant, onWithdrawn }: WithdrawOptions,
): Promise<boolean> {
  const { namespaceId, approval, grantId, withdrawal } = record;
  if (approval !== undefined && !(await takeUse(transaction, record))) return false;
  if (grantId !== undefined) await revokeGrant(transaction, namespaceId, grantId, withdrawal.at);
  await writeRecord(transaction, record);
  await onWithdrawn?.(transaction, record);
  return true;
}

async function takeUse(transaction: Transaction<Schema>, { namespaceId, id }: EscalationRecord): Promise<boolean> {
  const use = permitUse({ namespaceId, id });
  const taken = await transaction
    .insertInto("uses")
    .values({ namespace_id: use.namespaceId, grant_id: use.grantId, used: 1 })
    .onConflict((conflict) =>
      conflict.columns(["namespace_id", "grant_id"]).doUpdateSet({ used: 1 }).where("uses.used", "=", 0),
    )
    .returning("used")
    .execute();
  return taken.length > 0;
}
