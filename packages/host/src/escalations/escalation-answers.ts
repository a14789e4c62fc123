import type { Transaction } from "kysely";
import type { Grant, PrincipalRef } from "turnpike/contracts";
import { columnText } from "../base/index.ts";
import type { EscalationRecord } from "../management/index.ts";
import type { Database, Revisions, Schema } from "../storage/index.ts";
import { approve, type Approval, type ApprovalRules, type ApprovalTerms } from "./approval.ts";
import { isUnchanged } from "./escalation-records.ts";
import { findRow, recordOf, rowOf } from "./escalation-rows.ts";

/** An operator's answer. */
export interface Answer {
  namespaceId: string;
  id: string;
  /** The hash of the request that the operator looked at. */
  ask: string;
  /** The operator's credential. */
  by: string;
  /** Who they are, whatever credentials they have. */
  person: PrincipalRef;
  at: string;
}

/** The outcome of an answer. Only the first that closes an open escalation counts. */
export type Answered =
  | Approval
  | { kind: "unknown" }
  | { kind: "other-request" }
  | { kind: "closed"; record: EscalationRecord };

export interface AnswerOptions extends ApprovalRules {
  /** Stores the grant of an approval in the transaction of the answer. */
  issueGrant(transaction: Transaction<Schema>, grant: Grant): Promise<void>;
  /** A grant as it is within a transaction. */
  findGrant(db: Reader, namespaceId: string, grantId: string): Promise<Grant | undefined>;
  /** Told of an answer in its transaction, with the grant of an approval; not of a yes that needs another one. */
  onAnswered?(transaction: Transaction<Schema>, record: EscalationRecord, grant?: Grant): Promise<unknown>;
}

type Reader = Pick<Transaction<Schema>, "selectFrom">;

/** Answers to escalations. */
export interface EscalationAnswers {
  /**
   * Says yes. When it is the last one that is needed, the escalation is closed and the grant that it requests issued in one
   * transaction; a question about an act gets a permit instead.
   */
  approve(answer: Answer, terms?: ApprovalTerms): Promise<Answered>;
  /** What `approve` would come to now. It changes nothing. */
  previewApproval(answer: Answer, terms?: ApprovalTerms): Promise<Answered>;
  /** Says no. One is enough. */
  deny(answer: Answer, reason: string): Promise<Answered>;
  /** The escalation that `deny` would close now. */
  previewDenial(answer: Answer): Promise<Answered>;
}

export function createEscalationAnswers(
  { db }: Database,
  revisions: Revisions,
  { issueGrant, findGrant, onAnswered, ...rules }: AnswerOptions,
): EscalationAnswers {
  const judgeYes = async (reader: Reader, given: Answer, terms: ApprovalTerms): Promise<Answered> => {
    const found = await findOpen(reader, given);
    if (found.kind !== "done") return found;
    const { record } = found;
    const carrier = record.approval && (await findGrant(reader, record.namespaceId, record.approval.grantId));
    return approve(record, { person: given.person, at: given.at, terms }, rules, carrier);
  };
  const judgeNo = async (reader: Reader, given: Answer, reason: string): Promise<Answered> => {
    const found = await findOpen(reader, given);
    return found.kind === "done"
      ? { kind: "done", record: { ...found.record, status: "denied", answer: reason } }
      : found;
  };
  /** An answer locks the row of the revision first, so that two answers come one after the other. */
  const answer = (given: Answer, judge: (reader: Reader) => Promise<Answered>): Promise<Answered> =>
    revisions.write(async (transaction) => {
      const judged = await judge(transaction);
      if (judged.kind !== "done") return judged;
      const { grant } = judged;
      const isClosed = judged.record.status !== "pending";
      const record = { ...judged.record, ...(isClosed && { decidedAt: given.at, decidedBy: given.by }) };
      if (grant !== undefined) await issueGrant(transaction, grant);
      const { status, content, permit_expires_at } = rowOf(record);
      await transaction
        .updateTable("escalations")
        .set({ status, content, permit_expires_at })
        .where("namespace_id", "=", columnText(given.namespaceId))
        .where("id", "=", given.id)
        .execute();
      if (isClosed) await onAnswered?.(transaction, record, grant);
      return { ...judged, record };
    });
  return {
    approve: (given, terms = {}) => answer(given, (reader) => judgeYes(reader, given, terms)),
    previewApproval: (given, terms = {}) => judgeYes(db, given, terms),
    previewDenial: (given) => findOpen(db, given),
    deny: (given, reason) => answer(given, (reader) => judgeNo(reader, given, reason)),
  };
}

/** The escalation that an answer is to, if it can be answered. */
async function findOpen(reader: Reader, { namespaceId, id, ask, at }: Answer): Promise<Answered> {
  const row = await findRow(reader, namespaceId, id);
  if (row === undefined) return { kind: "unknown" };
  const record = recordOf(row, at);
  if (record.ask !== ask || !isUnchanged(record)) return { kind: "other-request" };
  return { kind: record.status === "pending" ? "done" : "closed", record };
}
