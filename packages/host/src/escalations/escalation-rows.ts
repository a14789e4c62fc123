import { sql, type Transaction } from "kysely";
import { principalKey } from "turnpike/contracts";
import { columnText, deepFreeze } from "../shared/index.ts";
import type { EscalationRecord } from "../admin-contract/index.ts";
import type { Schema } from "../storage/index.ts";
import { placeOf } from "./escalation-records.ts";

export type EscalationRow = Schema["escalations"];

/** Written exactly as in the partial indexes, which a query with a parameter would not use. */
export const isPending = sql<boolean>`status = 'pending'`;

/** What is gone: why an escalation ended, if not for lack of an answer. */
export type ClosedBy = Omit<NonNullable<EscalationRecord["closed"]>, "at">;

/** What is stored of an escalation that is not on its record. */
export interface EscalationBasis {
  /** The credential that it is asked with. */
  credential?: string | undefined;
  /** What ends when it expires. */
  closed?: ClosedBy | undefined;
}

export function rowOf(record: EscalationRecord, { credential, closed }: EscalationBasis = {}): EscalationRow {
  const { approval, requester: actor, authority, reviewer: owner, purpose, permitExpiresAt, executionId } = record;
  return {
    namespace_id: columnText(record.namespaceId),
    id: record.id,
    ask: columnText(record.ask),
    requester: columnText(principalKey(actor)),
    status: record.status,
    expires_at: record.expiresAt,
    place: approval === undefined ? null : placeOf({ actor, authority, owner, purpose }, approval.request),
    permit_expires_at: permitExpiresAt ?? null,
    grant_id: approval === undefined ? null : columnText(approval.grantId),
    credential_id: credential === undefined ? null : columnText(credential),
    execution_id: executionId === undefined ? null : columnText(executionId),
    authority: columnText(principalKey(authority)),
    closed: closed === undefined ? null : JSON.stringify(closed),
    content: JSON.stringify(record),
  };
}

/** A database, or a transaction, that is read. */
export type Reader = Pick<Transaction<Schema>, "selectFrom">;

/** Writes what became of an escalation. */
export async function writeRecord(transaction: Transaction<Schema>, record: EscalationRecord): Promise<void> {
  const { namespace_id, id, status, content, permit_expires_at } = rowOf(record);
  await transaction
    .updateTable("escalations")
    .set({ status, content, permit_expires_at })
    .where("namespace_id", "=", namespace_id)
    .where("id", "=", id)
    .execute();
}

/**
 * Reads a row and locks it until this transaction ends, so that what is written is based on what was read. Answers lock the same
 * row.
 */
export async function lockRow(
  transaction: Transaction<Schema>,
  namespace_id: string,
  id: string,
): Promise<EscalationRow | undefined> {
  // An update that changes nothing locks the row on either database.
  const rows = await transaction
    .updateTable("escalations")
    .set(({ ref }) => ({ status: ref("status") }))
    .where("namespace_id", "=", namespace_id)
    .where("id", "=", columnText(id))
    .returningAll()
    .execute();
  return rows[0];
}

export function findRow(db: Reader, namespaceId: string, id: string): Promise<EscalationRow | undefined> {
  return db
    .selectFrom("escalations")
    .selectAll()
    .where("namespace_id", "=", columnText(namespaceId))
    .where("id", "=", columnText(id))
    .executeTakeFirst();
}

/** What an escalation is now: one without an answer in time is expired. */
export function statusOf(row: Pick<EscalationRow, "status" | "expires_at">, now: string): EscalationRow["status"] {
  return row.status === "pending" && row.expires_at <= now ? "expired" : row.status;
}

/** A record as it is now. One that expired with what it rested on says so. */
export function recordOf(
  row: Pick<EscalationRow, "status" | "expires_at" | "closed" | "content">,
  now: string,
): EscalationRecord {
  const record = JSON.parse(row.content) as EscalationRecord;
  const status = statusOf(row, now);
  const isClosed = status === "expired" && row.closed !== null;
  const closed = isClosed && { closed: { ...(JSON.parse(row.closed ?? "") as ClosedBy), at: row.expires_at } };
  return deepFreeze({ ...record, status, ...closed });
}
