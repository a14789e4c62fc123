import type { Transaction } from "kysely";
import { samePrincipal, type Grant, type PrincipalRef } from "turnpike/contracts";
import { columnText } from "../shared/index.ts";
import type { DropReason, EscalationRecord } from "../admin-contract/index.ts";
import type { Database, Revisions, Schema } from "../storage/index.ts";
import { approve, type Approval, type ApprovalRules, type ApprovalTerms } from "./approval.ts";
import {
  type AnswersEnding,
  type AnswersPage,
  endAnswers,
  storeAnswer,
  type LastingAnswer,
  type LastingAnswers,
  lastingAnswers,
  type LastingOptions,
} from "./answers-of-credential.ts";
import { isUnchanged, takesPart } from "./escalation-records.ts";
import { findRow, lockRow, recordOf, type Reader, writeRecord } from "./escalation-rows.ts";
import { isUsed, withdrawYes, type WithdrawnRecord } from "./withdraw.ts";

/** An operator's answer. */
export interface Answer {
  namespaceId: string;
  id: string;
  /** The hash of the request that the operator was shown. */
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
  /** They tried the act, or asked about it, themselves. */
  | { kind: "takes-part" }
  /** Their credential was revoked, or is no reviewer's, since their request began. */
  | { kind: "no-reviewer" }
  | { kind: "closed"; record: EscalationRecord };

/** The outcome of withdrawing an approval. */
export type Withdrawn =
  | Exclude<Answered, { kind: "done" | "closed" | "same-person" | "invalid" }>
  | { kind: "done"; record: WithdrawnRecord }
  | { kind: "not-approved"; record: EscalationRecord }
  | { kind: "used" };

type Found =
  | Exclude<Answered, { kind: "done" | "closed" | "same-person" | "invalid" }>
  | { kind: "found"; record: EscalationRecord };

export interface AnswerOptions extends ApprovalRules, LastingOptions {
  /** Stores the grant of an approval in the transaction of the answer, and when and with which credential that was given. */
  issueGrant(transaction: Transaction<Schema>, grant: Grant, issuing: { at: string; madeWith: string }): Promise<void>;
  /** Why what was said with a credential does not count for an escalation; undefined when it does. */
  reviewerProblem(
    db: Reader,
    credentialId: string,
    about: Pick<EscalationRecord, "namespaceId" | "authority">,
    at: string,
  ): Promise<Exclude<DropReason, "takes_part"> | undefined>;
  /** Called for an answer in its transaction, with the grant of an approval; not for an approval that needs another one. */
  onAnswered?(transaction: Transaction<Schema>, record: EscalationRecord, grant?: Grant): Promise<unknown>;
}

/** Answers to escalations. */
export interface EscalationAnswers {
  /**
   * Approves. When it is the last approval that is needed, the escalation is closed and the grant that it requests issued in one
   * transaction; an escalation about an act gets a permit instead. Earlier approvals count only while their credentials are
   * valid and a reviewer's; the others are dropped.
   */
  approve(answer: Answer, terms?: ApprovalTerms): Promise<Answered>;
  /** What `approve` would come to now. It changes nothing. */
  previewApproval(answer: Answer, terms?: ApprovalTerms): Promise<Answered>;
  /** Denies an escalation. One denial is enough. */
  deny(answer: Answer, reason: string): Promise<Answered>;
  /** The escalation that `deny` would close now. */
  previewDenial(answer: Answer): Promise<Answered>;
  /** Withdraws an approval: a permit that was not used cannot be used any more, and a grant that it issued is revoked. */
  withdraw(answer: Answer, reason?: string): Promise<Withdrawn>;
  /** What `withdraw` would come to now. It changes nothing. */
  previewWithdrawal(answer: Answer, reason?: string): Promise<Withdrawn>;
  /** What the answers that were given with a credential left behind: what ends with `endAnswersOf`, or a page of it. */
  answersOf(credentialId: string, at: string, page?: AnswersPage): Promise<LastingAnswers>;
  /** Ends it in a transaction that ends the revision; returns what that was, as it is now. */
  endAnswersOf(transaction: Transaction<Schema>, credentialId: string, ending: AnswersEnding): Promise<LastingAnswer[]>;
}

export function createEscalationAnswers(
  { db, reporting }: Database,
  revisions: Revisions,
  { issueGrant, findGrant, reviewerProblem, onAnswered, revokeGrant, onWithdrawn, ...rules }: AnswerOptions,
): EscalationAnswers {
  /** The escalation that an answer is to, if this operator may answer it. */
  const find = async (reader: Reader, given: Answer): Promise<Found> => {
    const { namespaceId, id, ask, at, by, person } = given;
    const row = await findRow(reader, namespaceId, id);
    if (row === undefined) return { kind: "unknown" };
    const record = recordOf(row, at);
    if (record.ask !== ask || !isUnchanged(record)) return { kind: "other-request" };
    if (takesPart(record, person)) return { kind: "takes-part" };
    const problem = await reviewerProblem(reader, by, record, at);
    // The operator was admitted with a credential that existed then: its row is removed only with its tenant.
    if (problem !== undefined && problem !== "credential_unknown") return { kind: "no-reviewer" };
    return { kind: "found", record };
  };
  const findOpen = async (reader: Reader, given: Answer): Promise<Answered> => {
    const found = await find(reader, given);
    if (found.kind !== "found") return found;
    return { kind: found.record.status === "pending" ? "done" : "closed", record: found.record };
  };
  /** The record with the approvals that count, and those that do not any more among the dropped ones. */
  const withoutInvalid = async (reader: Reader, record: EscalationRecord, at: string): Promise<EscalationRecord> => {
    const { approvals = [], dropped = [] } = record;
    const problems = await Promise.all(
      approvals.map(async ({ by, credential }): Promise<DropReason | undefined> => {
        if (takesPart(record, by)) return "takes_part";
        return credential === undefined ? "credential_unknown" : reviewerProblem(reader, credential, record, at);
      }),
    );
    if (problems.every((problem) => problem === undefined)) return record;
    const gone = approvals.flatMap((one, place) => {
      const why = problems[place];
      return why === undefined ? [] : [{ ...one, why }];
    });
    const counted = approvals.filter((_, place) => problems[place] === undefined);
    return { ...record, approvals: counted, dropped: [...dropped, ...gone] };
  };
  const judgeYes = async (reader: Reader, given: Answer, terms: ApprovalTerms): Promise<Answered> => {
    const found = await findOpen(reader, given);
    if (found.kind !== "done") return found;
    const record = await withoutInvalid(reader, found.record, given.at);
    const carrier = record.approval && (await findGrant(reader, record.namespaceId, record.approval.grantId));
    const approval = { person: given.person, credential: given.by, at: given.at, terms };
    return approve(record, approval, rules, carrier);
  };
  const judgeNo = async (reader: Reader, given: Answer, reason: string): Promise<Answered> => {
    const found = await findOpen(reader, given);
    return found.kind === "done"
      ? { kind: "done", record: { ...found.record, status: "denied", answer: reason } }
      : found;
  };
  const judgeWithdrawal = async (reader: Reader, given: Answer, reason?: string): Promise<Withdrawn> => {
    const found = await find(reader, given);
    if (found.kind !== "found") return found;
    const { record } = found;
    if (samePrincipal(record.requester, given.person)) return { kind: "own-request" };
    if (record.status !== "approved") return { kind: "not-approved", record };
    if (record.approval !== undefined && (await isUsed(reader, record))) return { kind: "used" };
    const withdrawal = {
      by: given.person,
      credential: given.by,
      at: given.at,
      ...(reason !== undefined && { reason }),
    };
    return { kind: "done", record: { ...record, status: "withdrawn", withdrawal } };
  };
  /** An answer locks the row of the revision first, so that two answers come one after the other. */
  const answer = (given: Answer, judge: (reader: Reader) => Promise<Answered>): Promise<Answered> =>
    revisions.write(async (transaction) => {
      // A request that joins the escalation meanwhile is seen here, or sees the answer.
      await lockRow(transaction, columnText(given.namespaceId), given.id);
      const judged = await judge(transaction);
      if (judged.kind !== "done") return judged;
      const { grant } = judged;
      const isClosed = judged.record.status !== "pending";
      const record = { ...judged.record, ...(isClosed && { decidedAt: given.at, decidedBy: given.by }) };
      if (grant !== undefined) await issueGrant(transaction, grant, { at: given.at, madeWith: given.by });
      await writeRecord(transaction, record);
      await storeAnswer(transaction, record, given.by);
      if (isClosed) await onAnswered?.(transaction, record, grant);
      return { ...judged, record };
    });
  return {
    approve: (given, terms = {}) => answer(given, (reader) => judgeYes(reader, given, terms)),
    previewApproval: (given, terms = {}) => judgeYes(db, given, terms),
    previewDenial: (given) => findOpen(db, given),
    deny: (given, reason) => answer(given, (reader) => judgeNo(reader, given, reason)),
    withdraw: (given, reason) =>
      revisions.write(async (transaction) => {
        await lockRow(transaction, columnText(given.namespaceId), given.id);
        const judged = await judgeWithdrawal(transaction, given, reason);
        if (judged.kind !== "done") return judged;
        const isWithdrawn = await withdrawYes(transaction, judged.record, { revokeGrant, onWithdrawn });
        return isWithdrawn ? judged : { kind: "used" };
      }),
    previewWithdrawal: (given, reason) => judgeWithdrawal(db, given, reason),
    answersOf: (credentialId, at, page) => lastingAnswers(reporting, credentialId, at, { findGrant }, page),
    endAnswersOf: (transaction, credentialId, ending) =>
      endAnswers(transaction, credentialId, ending, { findGrant, revokeGrant, onWithdrawn }),
  };
}
