import { sql, type Transaction } from "kysely";
import { principalKey, type PrincipalRef } from "turnpike/contracts";
import type { EscalationQueue, EscalationRef } from "turnpike/kernel";
import { columnText } from "../shared/index.ts";
import type { Database, Revisions, Schema } from "../storage/index.ts";
import type { EscalationRecord } from "../admin-contract/index.ts";
import { createEscalationAnswers, type AnswerOptions, type EscalationAnswers } from "./escalation-answers.ts";
import { expireSome } from "./escalation-expiry.ts";
import { createEscalationQueue, type QueueOptions } from "./escalation-queue.ts";
import { authorityEscalation } from "./escalation-records.ts";
import { findRow, isPending, recordOf } from "./escalation-rows.ts";
import { findPending, type EscalationKey } from "./pending-escalations.ts";

type EscalationStatus = EscalationRecord["status"];

/** Which escalations to list. */
interface EscalationFilter {
  status?: EscalationStatus | undefined;
  /** Only those that came before this one. */
  before?: string | undefined;
  now: string;
}

/** Some of them, no further than to `downTo`. */
interface EscalationPage extends EscalationFilter {
  downTo?: string | undefined;
  limit: number;
}

/** The escalations of every tenant. */
export interface EscalationStore extends EscalationAnswers {
  /** How many different people have to approve an escalation. */
  readonly approvalsNeeded: number;
  add(...escalation: Parameters<EscalationQueue["add"]>): Promise<"full" | EscalationRef>;
  find(namespaceId: string, id: string, now: string): Promise<EscalationRecord | undefined>;
  /** Those that wait and would use a user's authority, the oldest first. */
  listAsked(
    namespaceId: string,
    authority: PrincipalRef,
    page: { now: string; limit: number },
  ): Promise<EscalationRecord[]>;
  /** The newest first. */
  list(namespaceId: string, page: EscalationPage): Promise<EscalationRecord[]>;
  /** The last escalation that fits into one page beside those before it: an act has up to a megabyte. Undefined when all fit. */
  findSizeEnd(namespaceId: string, page: EscalationPage): Promise<string | undefined>;
  /**
   * The last escalation that one page of a list reads, so that a page takes milliseconds however few match: the next
   * one begins before it. Undefined when a page is filled or the list ends before that.
   */
  findScanEnd(namespaceId: string, filter: EscalationFilter): Promise<string | undefined>;
  /** Those of some escalations that still wait for an answer. */
  findPending(escalations: readonly EscalationKey[], now: string): Promise<EscalationKey[]>;
  /** Marks some escalations that expired without an answer, and reports each; returns how many. Each is marked once. */
  expire(now: string, most: number): Promise<number>;
  /** How many escalations wait in each of these tenants. */
  countPendingOf(namespaceIds: readonly string[], now: string): Promise<Map<string, number>>;
  /** How many escalations of all tenants wait. */
  countPending(now: string): Promise<number>;
}

export interface EscalationOptions extends QueueOptions, AnswerOptions {}

/** How many rows one page reads. */
const maxScanned = 10_000;
/** How much one page holds, and the escalation that exceeds it. */
const maxPageBytes = 4 * 1024 * 1024;

/** Opens the queue. */
export function createEscalationStore(
  database: Database,
  revisions: Revisions,
  options: EscalationOptions,
): EscalationStore {
  const { db, reporting } = database;
  const open = createEscalationQueue(database, options);
  return {
    ...createEscalationAnswers(database, revisions, options),
    approvalsNeeded: options.approvals,
    add: (context, escalation) => open(authorityEscalation(context, escalation, options.lifetimeMs)),
    async find(namespaceId, id, now) {
      const row = await findRow(db, namespaceId, id);
      return row && recordOf(row, now);
    },
    async list(namespaceId, page) {
      const rows = await pageOf(reporting, namespaceId, page).selectAll().execute();
      return rows.map((row) => recordOf(row, page.now));
    },
    async listAsked(namespaceId, authority, { now, limit }) {
      const rows = await db
        .selectFrom("escalations")
        .selectAll()
        .where("namespace_id", "=", columnText(namespaceId))
        .where("authority", "=", columnText(principalKey(authority)))
        .where(isPending)
        .where("expires_at", ">", now)
        .orderBy("id")
        .limit(limit)
        .execute();
      return rows.map((row) => recordOf(row, now));
    },
    async findSizeEnd(namespaceId, page) {
      const size = sql<number>`octet_length(content)`.as("size");
      let bytes = 0;
      for (const row of await pageOf(reporting, namespaceId, page).select(["id", size]).execute()) {
        bytes += Number(row.size);
        if (bytes > maxPageBytes) return row.id;
      }
      return undefined;
    },
    async findScanEnd(namespaceId, filter) {
      if (filter.status !== "pending" && filter.status !== "expired") return undefined;
      const end = served(reporting, namespaceId, filter)
        .select("id")
        .limit(1)
        .offset(maxScanned - 1);
      return (await end.executeTakeFirst())?.id;
    },
    findPending: (escalations, now) => findPending(database, escalations, now),
    expire: (now, most) => expireSome(database, revisions, { now, most }, options),
    async countPendingOf(namespaceIds, now) {
      const rows = await reporting
        .selectFrom("escalations")
        .select(({ fn }) => ["namespace_id", fn.countAll().as("count")])
        .where("namespace_id", "in", ["", ...namespaceIds.map(columnText)])
        .where(isPending)
        .where("expires_at", ">", now)
        .groupBy("namespace_id")
        .execute();
      const counts = new Map(rows.map((row) => [row.namespace_id, Number(row.count)]));
      return new Map(namespaceIds.map((id) => [id, counts.get(columnText(id)) ?? 0]));
    },
    async countPending(now) {
      const { count } = await reporting
        .selectFrom("escalations")
        .select(({ fn }) => fn.countAll().as("count"))
        .where(isPending)
        .where("expires_at", ">", now)
        .executeTakeFirstOrThrow();
      return Number(count);
    },
  };
}

/** The rows of a page. */
function pageOf(db: Pick<Transaction<Schema>, "selectFrom">, namespaceId: string, page: EscalationPage) {
  const { status, now, downTo, limit } = page;
  let rows = served(db, namespaceId, page).limit(limit);
  if (downTo !== undefined) rows = rows.where("id", ">=", downTo);
  if (status === "pending") rows = rows.where("expires_at", ">", now);
  // The expression `status || ''` prevents the planner from using the index of states, so that it follows the order of the list.
  if (status === "expired")
    rows = rows.where(sql<boolean>`(status || '' = 'expired' or (status || '' = 'pending' and expires_at <= ${now}))`);
  return rows;
}

/** The part of the query that an index serves. The filter `expired` is not part of it: an expired row may still be stored as pending. */
function served(db: Pick<Transaction<Schema>, "selectFrom">, namespaceId: string, filter: EscalationFilter) {
  const { status, before } = filter;
  let rows = db.selectFrom("escalations").where("namespace_id", "=", columnText(namespaceId)).orderBy("id", "desc");
  if (status !== undefined && status !== "expired") rows = rows.where("status", "=", status);
  if (before !== undefined) rows = rows.where("id", "<", columnText(before));
  return rows;
}
