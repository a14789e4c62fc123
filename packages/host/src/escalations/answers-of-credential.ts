import { sql, type Transaction } from "kysely";
import type { Grant, PrincipalRef } from "turnpike/contracts";
import { columnText } from "../shared/index.ts";
import type { EscalationRecord } from "../admin-contract/index.ts";
import type { Schema } from "../storage/index.ts";
import { isLater } from "./approved-grant.ts";
import { recordOf, type Reader, writeRecord } from "./escalation-rows.ts";
import { isUsed, withdrawYes, type WithdrawOptions } from "./withdraw.ts";

/** Something that an answer left behind: a permit that was not used, a grant that it issued, or an approval that waits for another. */
export interface LastingAnswer {
  kind: "permit" | "grant" | "approval";
  record: EscalationRecord;
}

/** Which of the answers to read: so many behind a place. */
export interface AnswersPage {
  after?: AnswerPlace | undefined;
  limit: number;
}

type AnswerPlace = Pick<Schema["escalation_answers"], "namespace_id" | "escalation_id">;

/** What answers left behind, and after which place the next page begins; undefined after the last. */
export interface LastingAnswers {
  answers: LastingAnswer[];
  next?: AnswerPlace;
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
export async function storeAnswer(
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
  { after, limit }: Partial<AnswersPage> = {},
): Promise<LastingAnswers> {
  let answered = reader
    .selectFrom("escalation_answers")
    .innerJoin("escalations", (join) =>
      join
        .onRef("escalations.namespace_id", "=", "escalation_answers.namespace_id")
        .onRef("escalations.id", "=", "escalation_answers.escalation_id"),
    )
    .select([
      "status",
      "expires_at",
      "closed",
      "content",
      "escalation_answers.namespace_id",
      "escalation_answers.escalation_id",
    ])
    .where("escalation_answers.credential_id", "=", columnText(credentialId))
    .where("status", "in", ["pending", "approved"])
    .orderBy("escalation_answers.namespace_id")
    .orderBy("escalation_answers.escalation_id");
  if (after !== undefined)
    answered = answered.where(
      sql<boolean>`(escalation_answers.namespace_id, escalation_answers.escalation_id) > (${after.namespace_id}, ${after.escalation_id})`,
    );
  const rows = await (limit === undefined ? answered : answered.limit(limit + 1)).execute();
  const page = rows.slice(0, limit);
  const lasting: LastingAnswer[] = [];
  for (const record of page.map((row) => recordOf(row, at))) {
    const { status, approval, approvals = [], grantId, permitExpiresAt = "" } = record;
    if (status === "pending") {
      if (approvals.some(({ credential }) => credential === credentialId)) lasting.push({ kind: "approval", record });
    } else if (status === "approved" && approval !== undefined) {
      if (permitExpiresAt > at && !(await isUsed(reader, record))) lasting.push({ kind: "permit", record });
    } else if (status === "approved" && grantId !== undefined) {
      if (isLive(await findGrant(reader, record.namespaceId, grantId), at)) lasting.push({ kind: "grant", record });
    }
  }
  const last = rows.length > page.length ? page.at(-1) : undefined;
  const next = last && { namespace_id: last.namespace_id, escalation_id: last.escalation_id };
  return { answers: lasting, ...(next && { next }) };
}

/** Ends what the answers that were given with a credential left behind; returns what that was, as it is now. */
export async function endAnswers(
  transaction: Transaction<Schema>,
  credentialId: string,
  { at, ...who }: AnswersEnding,
  options: LastingOptions,
): Promise<LastingAnswer[]> {
  const ended: LastingAnswer[] = [];
  const { answers } = await lastingAnswers(transaction, credentialId, at, options);
  for (const { kind, record } of answers) {
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
  await lapseUsed(transaction, credentialId, at);
  return ended;
}

/** INVARIANT: a permit that an act uses now does not come back when the act says that nothing happened. */
async function lapseUsed(transaction: Transaction<Schema>, credentialId: string, at: string): Promise<void> {
  const given = sql<boolean>`exists (select 1 from escalation_answers
    where escalation_answers.namespace_id = escalations.namespace_id and escalation_answers.escalation_id = escalations.id
      and escalation_answers.credential_id = ${columnText(credentialId)})`;
  await transaction
    .updateTable("escalations")
    .set({ permit_expires_at: at })
    .where("status", "=", "approved")
    .where("permit_expires_at", ">", at)
    .where(given)
    .execute();
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
