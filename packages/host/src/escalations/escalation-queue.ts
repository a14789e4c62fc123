import { sql, type Transaction } from "kysely";
import type { Question } from "turnpike/kernel";
import type { EscalationRecord } from "../management/index.ts";
import type { Database, Schema } from "../storage/index.ts";
import { markExpired, type ExpiryOptions } from "./escalation-expiry.ts";
import { freshId, withParties, type NewEscalation } from "./escalation-records.ts";
import { isPending, lockRow, recordOf, rowOf, type EscalationRow, writeRecord } from "./escalation-rows.ts";

export interface QueueOptions extends ExpiryOptions {
  /** How long an escalation can be answered. */
  keepMs: number;
  /** How many escalations of one actor may be open, of either kind. */
  maxOpen: number;
  /** Told of a new escalation in its transaction; not of a request that joins one that waits. */
  onOpened?(transaction: Transaction<Schema>, record: EscalationRecord): Promise<unknown>;
}

/** Puts an escalation into the queue, or finds the one that waits with the same request. */
export type OpenEscalation = (escalation: NewEscalation) => Promise<"full" | Question>;

/** The advisory lock under which one actor's escalations are counted; its second half is the actor. */
const actorLock = 7445;

/** The one way into the queue, for requests of authority and for questions about acts. */
export function createEscalationQueue({ db, kind }: Database, options: Omit<QueueOptions, "keepMs">): OpenEscalation {
  const { maxOpen, onOpened } = options;
  return (escalation) =>
    db.transaction().execute(async (transaction) => {
      const asked = rowOf({ id: "", ...escalation });
      if (kind === "postgres") await lockActor(transaction, asked);
      const isOver = sql<boolean>`namespace_id = ${asked.namespace_id} and ask = ${asked.ask} and ${isPending}
        and expires_at <= ${escalation.requestedAt}`;
      await markExpired(transaction, isOver, escalation.requestedAt, options);
      // The same request waits only once.
      const same = await pendingWith(transaction, asked);
      if (same !== undefined) return join(transaction, same, escalation);
      if ((await countOpen(transaction, asked, escalation.requestedAt)) >= maxOpen) return "full";
      const record = { id: freshId(escalation.requestedAt, await lastId(transaction, asked)), ...escalation };
      await transaction.insertInto("escalations").values(rowOf(record)).execute();
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

/** The escalation that waits with a request; one from before requesters were kept is found by its request alone. */
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

/** The question that waits, which knows everybody who had a part in asking it. */
async function join(
  transaction: Transaction<Schema>,
  { namespace_id, id, expires_at: expiresAt }: Pick<EscalationRow, "namespace_id" | "id" | "expires_at">,
  escalation: NewEscalation,
): Promise<Question> {
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
  await sql`select pg_advisory_xact_lock(${actorLock}, hashtext(${actor}))`.execute(transaction);
}
