import { sql, type RawBuilder, type SqlBool, type Transaction } from "kysely";
import { limitRows, type Database, type Schema } from "../storage/index.ts";
import type { Webhook } from "./webhook.ts";

/** A message that this host sends now. */
export type Taken = Pick<Schema["outbox"], "webhook" | "message" | "content" | "created_at"> & {
  id: number;
  attempts: number;
};

/** The final state of a message, and when it was reached. */
interface Ending {
  state: Schema["webhook_history"]["state"];
  at: Date;
  /** Why it was given up. */
  error?: string;
}

/** The messages that wait to be sent. Those that were sent or given up are in the history. */
export interface Outbox {
  /** Leases the oldest message of a webhook, if it is due and no host has it. */
  take(webhook: Webhook, now: Date): Promise<Taken | undefined>;
  /** Makes a message due again at an instant. */
  postpone(taken: Taken, until: Date, error?: string): Promise<void>;
  /** Moves a message into the history. */
  finish(taken: Taken, ending: Ending): Promise<void>;
  /** Moves all messages of a webhook into the history; returns how many. */
  finishAll(webhook: Webhook, ending: Ending): Promise<number>;
  /** Removes the messages of webhooks that are not configured any more; returns how many. */
  removeAllBut(webhooks: readonly Webhook[]): Promise<number>;
  /** Makes every message due now. Only for a database of this process alone: it would take messages from other hosts. */
  retryAll(): Promise<void>;
  /** How many messages of a type wait for a webhook. */
  countOf(webhook: Webhook, type: string): Promise<number>;
  count(): Promise<number>;
}

/** Longer than an attempt takes. After it, another host may send the message of a host that was killed. */
const leaseMs = 20_000;
/** The longest time until a retry. A message that is due later was written before the clock was set back. */
export const longestWaitMs = 3_600_000;
const rowsAtOnce = 500;
const headSql = "select id, due_at from outbox where webhook = $1 order by id limit 1";

/** About how many messages the history has for each tenant, webhook and state, so that no tenant displaces another's. */
const historySize = 1000;

export function openOutbox(database: Database): Outbox {
  const { db, reporting, read } = database;
  const removeWhere = async (fits: RawBuilder<SqlBool>): Promise<number> => {
    let removed = 0;
    for (let last = rowsAtOnce; last === rowsAtOnce; removed += last) {
      const few = db.deleteFrom("outbox").where(limitRows(database, "outbox", fits, rowsAtOnce));
      last = Number((await few.executeTakeFirst()).numDeletedRows);
    }
    return removed;
  };
  /** Moves some messages that match. A message that two hosts move at the same instant is moved once. */
  const finishSome = (fits: RawBuilder<SqlBool>, { state, at, error }: Ending): Promise<number> =>
    db.transaction().execute(async (transaction) => {
      const gone = await transaction
        .deleteFrom("outbox")
        .where(limitRows(database, "outbox", fits, rowsAtOnce))
        .returningAll()
        .execute();
      if (gone.length === 0) return 0;
      const ended = { state, finished_at: at.toISOString() };
      const rows = gone
        .toSorted((one, other) => one.id - other.id)
        .map(({ id: _id, due_at: _due, last_error, ...row }) => ({
          ...row,
          ...ended,
          last_error: error ?? last_error,
        }));
      await transaction.insertInto("webhook_history").values(rows).execute();
      const tenants = new Set(gone.map(({ namespace_id }) => namespace_id));
      for (const tenant of tenants) await trim(transaction, gone[0]?.webhook ?? "", tenant, state);
      return gone.length;
    });
  return {
    async take({ key }, now) {
      const [head] = await read<{ id: number; due_at: string }>(headSql, [key]);
      const waitMs = head === undefined ? 0 : Date.parse(head.due_at) - now.getTime();
      if (head === undefined || (waitMs > 0 && waitMs <= longestWaitMs)) return undefined;
      // Of two hosts that read the same message, only one finds it unchanged.
      return db
        .updateTable("outbox")
        .set(({ eb }) => ({
          due_at: new Date(now.getTime() + leaseMs).toISOString(),
          attempts: eb("attempts", "+", 1),
        }))
        .where("webhook", "=", key)
        .where("id", "=", head.id)
        .where("due_at", "=", head.due_at)
        .returning(["id", "webhook", "message", "content", "created_at", "attempts"])
        .executeTakeFirst();
    },
    async postpone({ webhook, id, attempts }, until, error) {
      await db
        .updateTable("outbox")
        .set({ due_at: until.toISOString(), ...(error !== undefined && { last_error: error }) })
        .where("webhook", "=", webhook)
        .where("id", "=", id)
        .where("attempts", "=", attempts)
        .execute();
    },
    async finish({ webhook, id }, ending) {
      await finishSome(sql`webhook = ${webhook} and id = ${id}`, ending);
    },
    async finishAll({ key }, ending) {
      let moved = 0;
      for (let last = rowsAtOnce; last === rowsAtOnce; moved += last)
        last = await finishSome(sql`webhook = ${key}`, ending);
      return moved;
    },
    removeAllBut: (webhooks) =>
      removeWhere(
        webhooks.length === 0 ? sql`true` : sql`webhook not in (${sql.join(webhooks.map(({ key }) => key))})`,
      ),
    async retryAll() {
      await db
        .updateTable("outbox")
        .set(({ ref }) => ({ due_at: ref("created_at") }))
        .execute();
    },
    async countOf({ key }, type) {
      const rows = reporting.selectFrom("outbox").select(({ fn }) => fn.countAll().as("count"));
      const { count } = await rows.where("type", "=", type).where("webhook", "=", key).executeTakeFirstOrThrow();
      return Number(count);
    },
    async count() {
      const rows = reporting.selectFrom("outbox").select(({ fn }) => fn.countAll().as("count"));
      return Number((await rows.executeTakeFirstOrThrow()).count);
    },
  };
}

/** Removes what is beyond the newest messages of one tenant, webhook and state. */
async function trim(
  transaction: Transaction<Schema>,
  webhook: string,
  tenant: string,
  state: Ending["state"],
): Promise<void> {
  const same = transaction
    .selectFrom("webhook_history")
    .select("id")
    .where("webhook", "=", webhook)
    .where("namespace_id", "=", tenant)
    .where("state", "=", state);
  const last = await same.orderBy("id", "desc").limit(1).offset(historySize).executeTakeFirst();
  if (last === undefined) return;
  await transaction
    .deleteFrom("webhook_history")
    .where("webhook", "=", webhook)
    .where("namespace_id", "=", tenant)
    .where("state", "=", state)
    .where("id", "<=", last.id)
    .execute();
}
