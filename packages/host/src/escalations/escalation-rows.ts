import { sql, type Transaction } from "kysely";
import { principalKey } from "turnpike/contracts";
import { columnText, deepFreeze } from "../base/index.ts";
import type { EscalationRecord } from "../management/index.ts";
import type { Schema } from "../storage/index.ts";
import { placeOf } from "./escalation-records.ts";

export type EscalationRow = Schema["escalations"];

/** Written as it stands in the partial indexes, which no parameter would find. */
export const isPending = sql<boolean>`status = 'pending'`;

export function rowOf(record: EscalationRecord): EscalationRow {
  const { approval, requester: actor, authority, reviewer: owner, purpose, permitExpiresAt } = record;
  return {
    namespace_id: columnText(record.namespaceId),
    id: record.id,
    ask: columnText(record.ask),
    requester: columnText(principalKey(actor)),
    status: record.status,
    expires_at: record.expiresAt,
    place: approval === undefined ? null : placeOf({ actor, authority, owner, purpose }, approval.request),
    permit_expires_at: permitExpiresAt ?? null,
    content: JSON.stringify(record),
  };
}

export function findRow(
  db: Pick<Transaction<Schema>, "selectFrom">,
  namespaceId: string,
  id: string,
): Promise<EscalationRow | undefined> {
  return db
    .selectFrom("escalations")
    .selectAll()
    .where("namespace_id", "=", columnText(namespaceId))
    .where("id", "=", columnText(id))
    .executeTakeFirst();
}

/** What an escalation is now: one that nobody answered in time is expired. */
export function statusOf(row: Pick<EscalationRow, "status" | "expires_at">, now: string): EscalationRow["status"] {
  return row.status === "pending" && row.expires_at <= now ? "expired" : row.status;
}

/** A record as it is now. */
export function recordOf(row: Pick<EscalationRow, "status" | "expires_at" | "content">, now: string): EscalationRecord {
  const record = JSON.parse(row.content) as EscalationRecord;
  return deepFreeze({ ...record, status: statusOf(row, now) });
}
