import { sql, type Transaction } from "kysely";
import type { EscalationRef } from "turnpike/kernel";
import type { EscalationRecord } from "../admin-contract/index.ts";
import { advisoryLocks, lockRevision, type Database, type Schema } from "../storage/index.ts";
import { markExpired, type ExpiryOptions } from "./escalation-expiry.ts";
import { freshId, withParties, type NewEscalation } from "./escalation-records.ts";
import {
  isPending,
  lockRow,
  recordOf,
  rowOf,
  type ClosedBy,
  type EscalationRow,
  type Reader,
  writeRecord,
} from "./escalation-rows.ts";

/** When something ends that an escalation rests on, and what that is. */
export interface EscalationEnd {
  at: string;
  by: ClosedBy;
}

/** What an escalation rests on, besides a turn: the credential that it is made with, and the grant that carries the act. */
export interface Basis {
  namespaceId: string;
  credential?: string | undefined;
  grantId?: string | undefined;
}

export interface QueueOptions extends ExpiryOptions {
  /** How long an escalation can be answered. */
  lifetimeMs: number;
  /** How many escalations of one actor may be open, of either kind. */
  maxOpen: number;
  /** The last escalation with the same request, if it has an answer that counts: then no person is asked again. */
  findAnswered?(transaction: Transaction<Schema>, escalation: NewEscalation): Promise<EscalationRef | undefined>;
  /** Called with a new escalation, in its transaction; not with a request that joins an escalation that waits. */
  onOpened?(transaction: Transaction<Schema>, record: EscalationRecord): Promise<unknown>;
  /** The first end among what an escalation rests on; undefined when none of it ends by itself. */
  endOf?(reader: Reader, basis: Basis): Promise<EscalationEnd | undefined>;
}

/** The grant or the credential that an escalation would rest on ended before the escalation was made. */
class NothingToAskError extends Error {
  override readonly name = "NothingToAskError";
}

/** Puts an escalation into the queue, or finds the one that waits with the same request. */
export type OpenEscalation = (escalation: NewEscalation) => Promise<"full" | EscalationRef>;

/** The one way into the queue, for requests of authority and for approvals of acts. */
export function createEscalationQueue(
  { db, kind }: Database,
  options: Omit<QueueOptions, "lifetimeMs">,
): OpenEscalation {
  const { maxOpen, findAnswered, onOpened, endOf } = options;
  return ({ credential, ...escalation }) =>
    db.transaction().execute(async (transaction) => {
      const asked = rowOf({ id: "", ...escalation });
      // A transaction that revokes a credential or a grant meanwhile finds this escalation, or is seen here.
      await lockRevision(transaction, kind);
      if (kind === "postgres") await lockActor(transaction, asked);
      const isOver = sql<boolean>`namespace_id = ${asked.namespace_id} and ask = ${asked.ask} and ${isPending}
        and expires_at <= ${escalation.requestedAt}`;
      await markExpired(transaction, isOver, escalation.requestedAt, options);
      // The same request waits only once.
      const same = await pendingWith(transaction, asked);
      if (same !== undefined) return join(transaction, same, escalation);
      const answered = await findAnswered?.(transaction, escalation);
      if (answered !== undefined) return answered;
      if ((await countOpen(transaction, asked, escalation.requestedAt)) >= maxOpen) return "full";
      const { namespaceId, approval, requestedAt, expiresAt } = escalation;
      const end = await endOf?.(transaction, { namespaceId, credential, grantId: approval?.grantId });
      if (end !== undefined && end.at <= requestedAt)
        throw new NothingToAskError(`No escalation is made: ${end.by.reason} at ${end.at}.`);
      const first = end !== undefined && end.at < expiresAt ? end : undefined;
      const id = freshId(requestedAt, await lastId(transaction, asked));
      const record = { id, ...escalation, expiresAt: first?.at ?? expiresAt };
      await transaction
        .insertInto("escalations")
        .values(rowOf(record, { credential, closed: first?.by }))
        .execute();
      await onOpened?.(transaction, record);
      return { id: record.id, expiresAt: record.expiresAt };
    });
}

type Request = Pick<EscalationRow, "namespace_id" | "ask">;
type Requester = Pick<EscalationRow, "namespace_id" | "requester">;

async function lastId(transaction: Transaction<Schema>, { namespace_id, ask }: Request): Promise<string | undefined> {
  const last = await transaction
    .selectFrom("escalations")
    .select("id")
    .where("namespace_id", "=", namespace_id)
    .where("ask", "=", ask)
    .orderBy("id", "desc")
    .limit(1)
    .executeTakeFirst();
  return last?.id;
}

/** The escalation that waits with a request; one from before requesters were stored is found by its request alone. */
function pendingWith(
  transaction: Transaction<Schema>,
  { namespace_id, ask }: Request,
): Promise<Pick<EscalationRow, "namespace_id" | "id" | "expires_at"> | undefined> {
  return transaction
    .selectFrom("escalations")
    .select(["namespace_id", "id", "expires_at"])
    .where("namespace_id", "=", namespace_id)
    .where("ask", "=", ask)
    .where(isPending)
    .executeTakeFirst();
}

/** The escalation that waits, which names every party to its request. */
async function join(
  transaction: Transaction<Schema>,
  { namespace_id, id, expires_at: expiresAt }: Pick<EscalationRow, "namespace_id" | "id" | "expires_at">,
  escalation: NewEscalation,
): Promise<EscalationRef> {
  if (escalation.triedBy !== undefined || escalation.askedBy !== undefined) {
    const row = await lockRow(transaction, namespace_id, id);
    const record = row && withParties(recordOf(row, escalation.requestedAt), escalation);
    if (record !== undefined) await writeRecord(transaction, record);
  }
  return { id, expiresAt };
}

/** How many wait of the actor that asks. They are counted where they are: there may be thousands. */
async function countOpen(
  transaction: Transaction<Schema>,
  { namespace_id, requester }: Requester,
  now: string,
): Promise<number> {
  const { count } = await transaction
    .selectFrom("escalations")
    .select(({ fn }) => fn.countAll<number | string>().as("count"))
    .where("namespace_id", "=", namespace_id)
    .where("requester", "=", requester)
    .where(isPending)
    .where("expires_at", ">", now)
    .executeTakeFirstOrThrow();
  return Number(count);
}

/** Makes escalations of one actor come one after the other, so that each is counted. */
async function lockActor(transaction: Transaction<Schema>, { namespace_id, requester }: Requester): Promise<void> {
  const actor = JSON.stringify([namespace_id, requester]);
  await sql`select pg_advisory_xact_lock(${advisoryLocks.escalations}, hashtext(${actor}))`.execute(transaction);
}
