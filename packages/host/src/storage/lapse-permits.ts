import type { Transaction } from "kysely";
import type { Schema } from "./schema.ts";

/** Makes approvals of single acts lapse: whether they were used is not known any more. */
export async function lapsePermits(transaction: Transaction<Schema>, at: string): Promise<void> {
  const permits = transaction.updateTable("escalations").set({ permit_expires_at: at });
  await permits.where("permit_expires_at", ">", at).execute();
}
