import type { Transaction } from "kysely";
import type { Grant, PrincipalRef } from "turnpike/contracts";
import { columnText } from "../base/index.ts";
import type { EscalationRecord } from "../management/index.ts";
import type { Schema } from "../storage/index.ts";
import { isLater } from "./approved-grant.ts";
import { recordOf, type Reader, writeRecord } from "./escalation-rows.ts";
import { isUsed, withdrawYes, type WithdrawOptions } from "./withdraw.ts";

/** Something that an answer left behind: a permit that was not used, a grant that it issued, or a yes that waits for another. */
export interface LastingAnswer {
  kind: "permit" | "grant" | "approval";
  record: EscalationRecord;
}

/** Who ends the answers of a credential, and when. */
export interface AnswersEnding {
  by: PrincipalRef;
  credential: string;
  at: string;
}

export interface LastingOptions extends WithdrawOptions {
  /** A grant as it is within a transaction. */
  findGrant(db: Reader, namespaceId: string, grantId: string): Promise<Grant | undefined>;
}

/** Records that a credential answered an escalation. */
export async function keepAnswer(
  transaction: Transaction<Schema>,
  { namespaceId, id }: EscalationRecord,
  credentialId: string,
): Promise<void> {
  const row = { credential_id: columnText(credentialId), namespace_id: columnText(namespaceId), escalation_id: id };
  await transaction
    .insertInto("escalation_answers")
    .values(row)
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}

/** What the answers that were given with a credential left behind at an instant. */
export async function lastingAnswers(
  reader: Reader,
  credentialId: string,
  at: string,
  { findGrant }: Pick<LastingOptions, "findGrant">,
): Promise<LastingAnswer[]> {
  const rows = await reader
    .selectFrom("escalation_answers")
    .innerJoin("escalations", (join) =>
      join
        .onRef("escalations.namespace_id", "=", "escalation_answers.namespace_id")
        .onRef("escalations.id", "=", "escalation_answers.escalation_id"),
    )
    .select(["status", "expires_at", "content"])
    .where("credential_id", "=", columnText(credentialId))
    .where("status", "in", ["pending", "approved"])
    .orderBy("escalation_answers.namespace_id")
    .orderBy("escalation_answers.escalation_id")
    .execute();
  const lasting: LastingAnswer[] = [];
  for (const record of rows.map((row) => recordOf(row, at))) {
    const { status, approval, approvals = [], grantId, permitExpiresAt = "" } = record;
    if (status === "pending") {
      if (approvals.some(({ credential }) => credential === credentialId)) lasting.push({ kind: "approval", record });
    } else if (status === "approved" && approval !== undefined) {
      if (permitExpiresAt > at && !(await isUsed(reader, record))) lasting.push({ kind: "permit", record });
    } else if (status === "approved" && grantId !== undefined) {
      if (isLive(await findGrant(reader, record.namespaceId, grantId), at)) lasting.push({ kind: "grant", record });
    }
  }
  return lasting;
}

/** Ends what the answers that were given with a credential left behind; returns what that was, as it is now. */
export async function endAnswers(
  transaction: Transaction<Schema>,
  credentialId: string,
  { at, ...who }: AnswersEnding,
  options: LastingOptions,
): Promise<LastingAnswer[]> {
  const ended: LastingAnswer[] = [];
  for (const { kind, record } of await lastingAnswers(transaction, credentialId, at, options)) {
    if (kind === "approval") {
      const after = withoutApprovals(record, credentialId);
      await writeRecord(transaction, after);
      ended.push({ kind, record: after });
      continue;
    }
    const withdrawal = { ...who, at, reason: `The credential ${credentialId} was revoked, and its answers with it.` };
    const after = { ...record, status: "withdrawn" as const, withdrawal };
    if (await withdrawYes(transaction, after, options)) ended.push({ kind, record: after });
  }
  return ended;
}

/** Whether a grant has neither been revoked nor expired. */
function isLive(grant: Grant | undefined, at: string): boolean {
  if (grant === undefined) return false;
  const { constraints, revokedAt } = grant;
  return [constraints.expiresAt, revokedAt].every((end) => end === undefined || isLater(end, at));
}

function withoutApprovals(record: EscalationRecord, credentialId: string): EscalationRecord {
  const { approvals = [], dropped = [] } = record;
  const gone = approvals.filter(({ credential }) => credential === credentialId);
  const why = "credential_revoked" as const;
  return {
    ...record,
    approvals: approvals.filter((one) => !gone.includes(one)),
    dropped: [...dropped, ...gone.map((one) => ({ ...one, why }))],
  };
}
