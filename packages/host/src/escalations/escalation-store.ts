import { randomBytes } from "node:crypto";
import { sql, type Transaction } from "kysely";
import {
  canonicalJson,
  deepFreeze,
  principalKey,
  sha256,
  type AccessContext,
  type Escalation,
  type Grant,
} from "turnpike/contracts";
import type { EscalationQueue } from "turnpike/kernel";
import { columnText } from "../base/index.ts";
import type { Database, Revisions, Schema } from "../storage/index.ts";
import type { Question } from "../management/index.ts";

type QuestionStatus = Question["status"];

/** An operator's answer. */
export interface Answer {
  namespaceId: string;
  id: string;
  ask: string;
  by: string;
  at: string;
}

/** What became of an answer: only the first one to a question that was still open counts. */
export type Answered =
  | { kind: "done"; question: Question }
  | { kind: "unknown" }
  | { kind: "other-ask" }
  | { kind: "closed"; question: Question };

/** The questions of every tenant. */
export interface EscalationStore extends EscalationQueue {
  find(namespaceId: string, id: string, now: string): Promise<Question | undefined>;
  /** Newest first; those before the question `before`. */
  list(
    namespaceId: string,
    options: { status?: QuestionStatus | undefined; before?: string | undefined; limit: number; now: string },
  ): Promise<Question[]>;
  /** Closes a question and issues the grant in one transaction. */
  approve(answer: Answer, grant: Grant): Promise<Answered>;
  deny(answer: Answer, reason: string): Promise<Answered>;
  /** How many questions of all tenants wait. */
  countPending(now: string): Promise<number>;
}

/** How long a question waits before nobody can answer it any more, and how many of one actor wait at a time. */
export interface EscalationOptions {
  keepMs: number;
  maxOpen: number;
  /** Keeps the grant of an approval, in the transaction of the answer. */
  issueGrant(transaction: Transaction<Schema>, grant: Grant): Promise<void>;
}

/** The advisory lock under which one actor's questions are counted; its second half is the actor. */
const actorLock = 7445;

/** Opens the queue. */
export function createEscalationStore(
  { db, reports, kind }: Database,
  revisions: Revisions,
  { keepMs, maxOpen, issueGrant }: EscalationOptions,
): EscalationStore {
  /** Every answer ends a revision, whose row it locks first: two answers come one after the other. */
  const answer = (given: Answer, change: Partial<Question>, grant?: Grant): Promise<Answered> =>
    revisions.write(async (transaction) => {
      const row = await rowOf(transaction, given.namespaceId, given.id);
      if (row === undefined) return { kind: "unknown" };
      const question = read(row, given.at);
      if (question.ask !== given.ask || askOf(question) !== given.ask) return { kind: "other-ask" };
      if (question.status !== "pending") return { kind: "closed", question };
      const decided = { ...question, ...change, decidedAt: given.at, decidedBy: given.by };
      if (grant !== undefined) await issueGrant(transaction, grant);
      await transaction
        .updateTable("escalations")
        .set({ status: decided.status, content: JSON.stringify(decided) })
        .where("namespace_id", "=", columnText(given.namespaceId))
        .where("id", "=", given.id)
        .execute();
      return { kind: "done", question: decided };
    });
  return {
    async add(context, escalation) {
      const question = ask(context, escalation, keepMs);
      const row = {
        namespace_id: columnText(question.namespaceId),
        id: question.id,
        ask: question.ask,
        requester: columnText(principalKey(question.requester)),
        status: question.status,
        expires_at: question.expiresAt,
        content: JSON.stringify(question),
      };
      return db.transaction().execute(async (transaction) => {
        if (kind === "postgres") await lockActor(transaction, row);
        await transaction
          .updateTable("escalations")
          .set({ status: "expired" })
          .where("namespace_id", "=", row.namespace_id)
          .where("ask", "=", row.ask)
          .where("status", "=", "pending")
          .where("expires_at", "<=", question.requestedAt)
          .execute();
        const open = await transaction
          .selectFrom("escalations")
          .select("ask")
          .where("namespace_id", "=", row.namespace_id)
          .where("requester", "=", row.requester)
          .where("status", "=", "pending")
          .where("expires_at", ">", question.requestedAt)
          .execute();
        // The same question that still waits is not asked twice.
        if (open.some((other) => other.ask === row.ask)) return undefined;
        if (open.length >= maxOpen) return "full";
        await transaction
          .insertInto("escalations")
          .values(row)
          .onConflict((conflict) => conflict.doNothing())
          .execute();
        return undefined;
      });
    },
    async find(namespaceId, id, now) {
      const row = await rowOf(db, namespaceId, id);
      return row && read(row, now);
    },
    async list(namespaceId, { status, before, limit, now }) {
      let rows = reports
        .selectFrom("escalations")
        .selectAll()
        .where("namespace_id", "=", columnText(namespaceId))
        .orderBy("id", "desc")
        .limit(limit);
      if (before !== undefined) rows = rows.where("id", "<", columnText(before));
      if (status === "pending") rows = rows.where("status", "=", status).where("expires_at", ">", now);
      else if (status === "expired")
        rows = rows.where(({ or, and, eb }) =>
          or([eb("status", "=", "expired"), and([eb("status", "=", "pending"), eb("expires_at", "<=", now)])]),
        );
      else if (status !== undefined) rows = rows.where("status", "=", status);
      return (await rows.execute()).map((row) => read(row, now));
    },
    approve: (given, grant) => answer(given, { status: "approved", grantId: grant.id }, grant),
    deny: (given, reason) => answer(given, { status: "denied", answer: reason }),
    async countPending(now) {
      const { count } = await reports
        .selectFrom("escalations")
        .select(({ fn }) => fn.countAll().as("count"))
        .where("status", "=", "pending")
        .where("expires_at", ">", now)
        .executeTakeFirstOrThrow();
      return Number(count);
    },
  };
}

/** Two questions of one actor come one after the other, so that both are counted. */
async function lockActor(
  transaction: Transaction<Schema>,
  { namespace_id, requester }: Pick<Schema["escalations"], "namespace_id" | "requester">,
): Promise<void> {
  const actor = JSON.stringify([namespace_id, requester]);
  await sql`select pg_advisory_xact_lock(${actorLock}, hashtext(${actor}))`.execute(transaction);
}

/** Ids sort by age: the time in base 36 keeps its eight places until the year 2059. */
function freshId(at: number): string {
  return `q${at.toString(36)}${randomBytes(4).toString("hex")}`;
}

function ask(context: AccessContext, escalation: Escalation, keepMs: number): Question {
  const { namespaceId, actor: requester, authority, purpose, traceId, executionId } = context;
  const { reason, reviewer, requestedAuthority } = escalation;
  const asked = Date.parse(escalation.requestedAt);
  const question = { namespaceId, requester, reviewer, authority, purpose, reason, traceId };
  const request = requestedAuthority && { requestedAuthority };
  return {
    id: freshId(asked),
    ...question,
    status: "pending",
    ask: askOf({ ...question, ...request }),
    ...request,
    ...(executionId && { executionId }),
    requestedAt: new Date(asked).toISOString(),
    expiresAt: new Date(asked + keepMs).toISOString(),
  };
}

type Asked = Pick<Question, "namespaceId" | "requester" | "reviewer" | "authority" | "purpose" | "reason"> &
  Partial<Pick<Question, "requestedAuthority">>;

/** Everything that an approval would make a grant of; for a question without an ask, the words of it. */
function askOf({ namespaceId, requester, reviewer, authority, purpose, reason, requestedAuthority }: Asked): string {
  const { capabilities, constraints } = requestedAuthority ?? {};
  const wanted = capabilities === undefined ? { reason } : { capabilities, constraints };
  return sha256(canonicalJson({ namespaceId, requester, reviewer, authority, purpose, ...wanted }));
}

function rowOf(db: Pick<Transaction<Schema>, "selectFrom">, namespaceId: string, id: string) {
  return db
    .selectFrom("escalations")
    .selectAll()
    .where("namespace_id", "=", columnText(namespaceId))
    .where("id", "=", columnText(id))
    .executeTakeFirst();
}

/** A question as it stands now: one that nobody answered in time is expired. */
function read(row: Schema["escalations"], now: string): Question {
  const question = JSON.parse(row.content) as Question;
  const status = row.status === "pending" && row.expires_at <= now ? "expired" : row.status;
  return deepFreeze({ ...question, status });
}
