import { sql, type Transaction } from "kysely";
import type { EscalationQueue, Question } from "turnpike/kernel";
import { columnText } from "../base/index.ts";
import type { Database, Revisions, Schema } from "../storage/index.ts";
import type { EscalationRecord } from "../management/index.ts";
import { createEscalationAnswers, type AnswerOptions, type EscalationAnswers } from "./escalation-answers.ts";
import { expireSome } from "./escalation-expiry.ts";
import { createEscalationQueue, type QueueOptions } from "./escalation-queue.ts";
import { authorityEscalation } from "./escalation-records.ts";
import { findRow, isPending, recordOf } from "./escalation-rows.ts";

type EscalationStatus = EscalationRecord["status"];

/** Which escalations to list. */
interface EscalationFilter {
  status?: EscalationStatus | undefined;
  /** Only those that came before this one. */
  before?: string | undefined;
  now: string;
}

/** The escalations of every tenant. */
export interface EscalationStore extends EscalationAnswers {
  /** How many different people have to approve an escalation. */
  readonly approvalsNeeded: number;
  add(...escalation: Parameters<EscalationQueue["add"]>): Promise<"full" | Question>;
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
  /** Marks some escalations that nobody answered in time, and tells of each; returns how many. Each is marked once. */
  expire(now: string, most: number): Promise<number>;
  /** How many escalations of all tenants wait. */
  countPending(now: string): Promise<number>;
}

export interface EscalationOptions extends QueueOptions, AnswerOptions {}

/** How many rows one page looks at. */
const maxScanned = 10_000;

/** Opens the queue. */
export function createEscalationStore(
  database: Database,
  revisions: Revisions,
  options: EscalationOptions,
): EscalationStore {
  const { db, reports } = database;
  const open = createEscalationQueue(database, options);
  return {
    ...createEscalationAnswers(database, revisions, options),
    approvalsNeeded: options.approvals,
    add: (context, escalation) => open(authorityEscalation(context, escalation, options.keepMs)),
    async find(namespaceId, id, now) {
      const row = await findRow(db, namespaceId, id);
      return row && recordOf(row, now);
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
      return (await rows.execute()).map((row) => recordOf(row, now));
    },
    async findScanEnd(namespaceId, filter) {
      if (filter.status !== "pending" && filter.status !== "expired") return undefined;
      const end = served(reports, namespaceId, filter)
        .select("id")
        .limit(1)
        .offset(maxScanned - 1);
      return (await end.executeTakeFirst())?.id;
    },
    expire: (now, most) => expireSome(database, revisions, { now, most }, options),
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
