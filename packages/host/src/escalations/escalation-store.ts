import { randomBytes } from "node:crypto";
import { sql, type Transaction } from "kysely";
import { principalKey, type AccessContext, type Escalation, type Grant } from "turnpike/contracts";
import type { EscalationQueue } from "turnpike/kernel";
import { canonicalJson, columnText, deepFreeze, sha256 } from "../base/index.ts";
import type { Database, Revisions, Schema } from "../storage/index.ts";
import type { EscalationRecord } from "../management/index.ts";

type EscalationStatus = EscalationRecord["status"];

/** An operator's answer. */
export interface Answer {
  namespaceId: string;
  id: string;
  /** The hash of the request that the operator looked at. */
  ask: string;
  by: string;
  at: string;
}

/** The outcome of an answer. Only the first answer to an open escalation counts. */
export type Answered =
  | { kind: "done"; record: EscalationRecord }
  | { kind: "unknown" }
  | { kind: "other-request" }
  | { kind: "closed"; record: EscalationRecord };

/** Which escalations to list. */
interface EscalationFilter {
  status?: EscalationStatus | undefined;
  /** Only those that came before this one. */
  before?: string | undefined;
  now: string;
}

/** The escalations of every tenant. */
export interface EscalationStore extends EscalationQueue {
  find(namespaceId: string, id: string, now: string): Promise<EscalationRecord | undefined>;
  /** The newest first. */
  list(
    namespaceId: string,
    filter: EscalationFilter & { downTo?: string | undefined; limit: number },
  ): Promise<EscalationRecord[]>;
  /**
   * The last escalation that one page of a list looks at, so that a page takes milliseconds however little fits: the next
   * one begins before it. Undefined when a page is filled or the list ends without looking at that much.
   */
  findScanEnd(namespaceId: string, filter: EscalationFilter): Promise<string | undefined>;
  /** Closes an escalation and issues the grant in one transaction. */
  approve(answer: Answer, grant: Grant): Promise<Answered>;
  deny(answer: Answer, reason: string): Promise<Answered>;
  /** How many escalations of all tenants wait. */
  countPending(now: string): Promise<number>;
}

export interface EscalationOptions {
  /** How long an escalation can be answered. */
  keepMs: number;
  /** How many escalations of one actor may be open. */
  maxOpen: number;
  /** Stores the grant of an approval in the transaction of the answer. */
  issueGrant(transaction: Transaction<Schema>, grant: Grant): Promise<void>;
  /** Told of an answer in its transaction, with the grant of an approval. */
  onAnswered?(transaction: Transaction<Schema>, record: EscalationRecord, grant?: Grant): Promise<unknown>;
}

/** An escalation that waits, as whoever requested it learns of it; it may be an earlier one that requests the same. */
interface OpenEscalation {
  id: string;
  expiresAt: string;
}

/** The advisory lock under which one actor's escalations are counted; its second half is the actor. */
const actorLock = 7445;

/** How many rows one page looks at. */
const maxScanned = 10_000;

/** Written as it stands in the partial indexes, which no parameter would find. */
const isPending = sql<boolean>`status = 'pending'`;

/** Opens the queue. */
export function createEscalationStore(
  { db, reports, kind }: Database,
  revisions: Revisions,
  { keepMs, maxOpen, issueGrant, onAnswered }: EscalationOptions,
): EscalationStore {
  /** An answer locks the row of the revision first, so that two answers come one after the other. */
  const answer = (given: Answer, change: Partial<EscalationRecord>, grant?: Grant): Promise<Answered> =>
    revisions.write(async (transaction) => {
      const row = await rowOf(transaction, given.namespaceId, given.id);
      if (row === undefined) return { kind: "unknown" };
      const record = read(row, given.at);
      if (record.ask !== given.ask || requestHash(record) !== given.ask) return { kind: "other-request" };
      if (record.status !== "pending") return { kind: "closed", record };
      const decided = { ...record, ...change, decidedAt: given.at, decidedBy: given.by };
      if (grant !== undefined) await issueGrant(transaction, grant);
      await transaction
        .updateTable("escalations")
        .set({ status: decided.status, content: JSON.stringify(decided) })
        .where("namespace_id", "=", columnText(given.namespaceId))
        .where("id", "=", given.id)
        .execute();
      await onAnswered?.(transaction, decided, grant);
      return { kind: "done", record: decided };
    });
  return {
    async add(context, escalation) {
      const record = newRecord(context, escalation, keepMs);
      const row = {
        namespace_id: columnText(record.namespaceId),
        id: record.id,
        ask: record.ask,
        requester: columnText(principalKey(record.requester)),
        status: record.status,
        expires_at: record.expiresAt,
        content: JSON.stringify(record),
      };
      const added: "full" | OpenEscalation = await db.transaction().execute(async (transaction) => {
        if (kind === "postgres") await lockActor(transaction, row);
        await transaction
          .updateTable("escalations")
          .set({ status: "expired" })
          .where("namespace_id", "=", row.namespace_id)
          .where("ask", "=", row.ask)
          .where(isPending)
          .where("expires_at", "<=", record.requestedAt)
          .execute();
        const open = await transaction
          .selectFrom("escalations")
          .select(["ask", "id", "expires_at as expiresAt"])
          .where("namespace_id", "=", row.namespace_id)
          .where("requester", "=", row.requester)
          .where(isPending)
          .where("expires_at", ">", record.requestedAt)
          .execute();
        // The same request waits only once.
        const same = open.find((other) => other.ask === row.ask);
        if (same !== undefined) return { id: same.id, expiresAt: same.expiresAt };
        if (open.length >= maxOpen) return "full";
        const { numInsertedOrUpdatedRows: inserted } = await transaction
          .insertInto("escalations")
          .values(row)
          .onConflict((conflict) => conflict.doNothing())
          .executeTakeFirst();
        return inserted === 0n ? pendingWith(transaction, row) : { id: row.id, expiresAt: row.expires_at };
      });
      // The kernel's type of the queue does not name the escalation yet.
      return added as unknown as "full" | undefined;
    },
    async find(namespaceId, id, now) {
      const row = await rowOf(db, namespaceId, id);
      return row && read(row, now);
    },
    async list(namespaceId, { downTo, limit, ...filter }) {
      const { status, now } = filter;
      let rows = served(reports, namespaceId, filter).selectAll().limit(limit);
      if (downTo !== undefined) rows = rows.where("id", ">=", downTo);
      if (status === "pending") rows = rows.where("expires_at", ">", now);
      // An expression is no column: the planner leaves the index of states alone and follows the order of the list.
      if (status === "expired")
        rows = rows.where(
          sql<boolean>`(status || '' = 'expired' or (status || '' = 'pending' and expires_at <= ${now}))`,
        );
      return (await rows.execute()).map((row) => read(row, now));
    },
    async findScanEnd(namespaceId, filter) {
      if (filter.status !== "pending" && filter.status !== "expired") return undefined;
      const end = served(reports, namespaceId, filter)
        .select("id")
        .limit(1)
        .offset(maxScanned - 1);
      return (await end.executeTakeFirst())?.id;
    },
    approve: (given, grant) => answer(given, { status: "approved", grantId: grant.id }, grant),
    deny: (given, reason) => answer(given, { status: "denied", answer: reason }),
    async countPending(now) {
      const { count } = await reports
        .selectFrom("escalations")
        .select(({ fn }) => fn.countAll().as("count"))
        .where(isPending)
        .where("expires_at", ">", now)
        .executeTakeFirstOrThrow();
      return Number(count);
    },
  };
}

/** The rows that an index finds, in its order. Those that expired unanswered may be pending still: they are in no one state. */
function served(db: Pick<Transaction<Schema>, "selectFrom">, namespaceId: string, filter: EscalationFilter) {
  const { status, before } = filter;
  let rows = db.selectFrom("escalations").where("namespace_id", "=", columnText(namespaceId)).orderBy("id", "desc");
  if (status !== undefined && status !== "expired") rows = rows.where("status", "=", status);
  if (before !== undefined) rows = rows.where("id", "<", columnText(before));
  return rows;
}

/** The escalation that waits with a request; one from before requesters were kept is found by its request alone. */
async function pendingWith(
  transaction: Transaction<Schema>,
  { namespace_id, ask }: Pick<Schema["escalations"], "namespace_id" | "ask">,
): Promise<OpenEscalation> {
  return transaction
    .selectFrom("escalations")
    .select(["id", "expires_at as expiresAt"])
    .where("namespace_id", "=", namespace_id)
    .where("ask", "=", ask)
    .where(isPending)
    .executeTakeFirstOrThrow();
}

/** Makes escalations of one actor come one after the other, so that each is counted. */
async function lockActor(
  transaction: Transaction<Schema>,
  { namespace_id, requester }: Pick<Schema["escalations"], "namespace_id" | "requester">,
): Promise<void> {
  const actor = JSON.stringify([namespace_id, requester]);
  await sql`select pg_advisory_xact_lock(${actorLock}, hashtext(${actor}))`.execute(transaction);
}

/** Ids sort by age. The time in base 36 has eight digits until the year 2059. */
function freshId(at: number): string {
  return `q${at.toString(36)}${randomBytes(4).toString("hex")}`;
}

/** A record of an escalation that begins to wait. */
function newRecord(context: AccessContext, escalation: Escalation, keepMs: number): EscalationRecord {
  const { namespaceId, actor: requester, authority, purpose, traceId, executionId } = context;
  const { reason, reviewer, requestedAuthority } = escalation;
  const requested = Date.parse(escalation.requestedAt);
  const content = { namespaceId, requester, reviewer, authority, purpose, reason, traceId };
  const request = requestedAuthority && { requestedAuthority };
  return {
    id: freshId(requested),
    ...content,
    status: "pending",
    ask: requestHash({ ...content, ...request }),
    ...request,
    ...(executionId && { executionId }),
    requestedAt: new Date(requested).toISOString(),
    expiresAt: new Date(requested + keepMs).toISOString(),
  };
}

type HashedFields = Pick<
  EscalationRecord,
  "namespaceId" | "requester" | "reviewer" | "authority" | "purpose" | "reason"
> &
  Partial<Pick<EscalationRecord, "requestedAuthority">>;

/**
 * The hash of everything that an approval would grant. An escalation that requests no authority has the hash of its
 * reason instead.
 */
function requestHash({
  namespaceId,
  requester,
  reviewer,
  authority,
  purpose,
  reason,
  requestedAuthority,
}: HashedFields): string {
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

/** A record as it is now: one that nobody answered in time is expired. */
function read(row: Schema["escalations"], now: string): EscalationRecord {
  const record = JSON.parse(row.content) as EscalationRecord;
  const status = row.status === "pending" && row.expires_at <= now ? "expired" : row.status;
  return deepFreeze({ ...record, status });
}
