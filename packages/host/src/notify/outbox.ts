import { sql, type RawBuilder, type SqlBool, type Transaction } from "kysely";
import { fewRows, type Database, type Schema } from "../storage/index.ts";
import type { Webhook } from "./webhook.ts";

/** A message that this host sends now. */
export type Taken = Pick<Schema["outbox"], "webhook" | "message" | "content" | "created_at"> & {
  id: number;
  attempts: number;
};

/** What became of a message in the end, and when. */
interface Ending {
  state: Schema["webhook_history"]["state"];
  at: Date;
  /** Why it was given up. */
  error?: string;
}

/** What webhooks have not been told yet. What they were told, or were not in the end, is in their history. */
export interface Outbox {
  /** Takes the oldest message of a webhook for a while, if nobody has it and it is due. */
  take(webhook: Webhook, now: Date): Promise<Taken | undefined>;
  /** Has a message tried again from then on. */
  postpone(taken: Taken, until: Date, error?: string): Promise<void>;
  /** Moves a message into the history. */
  finish(taken: Taken, ending: Ending): Promise<void>;
  /** Moves all messages of a webhook into the history; returns how many. */
  finishAll(webhook: Webhook, ending: Ending): Promise<number>;
  /** Removes the messages of webhooks that are not configured any more; returns how many. */
  keepOnly(webhooks: readonly Webhook[]): Promise<number>;
  /** Has every message tried at once. Only for a database of this process alone: it takes messages from other hosts. */
  retryAll(): Promise<void>;
  /** How many messages of a type wait for a webhook. */
  countOf(webhook: Webhook, type: string): Promise<number>;
  count(): Promise<number>;
}

/** Longer than an attempt takes. A message of a host that was killed is another's from then on. */
const leaseMs = 20_000;
/** The longest time for which a message is put off. One that is due later was written before the clock was set back. */
export const longestWaitMs = 3_600_000;
const rowsAtOnce = 500;
const headSql = "select id, due_at from outbox where webhook = $1 order by id limit 1";

/** How many messages of one tenant, webhook and state the history keeps, about: nobody pushes another's out. */
const keptMessages = 1000;

export function openOutbox(database: Database): Outbox {
  const { db, reports, read } = database;
  const removeWhere = async (fits: RawBuilder<SqlBool>): Promise<number> => {
    let removed = 0;
    for (let last = rowsAtOnce; last === rowsAtOnce; removed += last) {
      const few = db.deleteFrom("outbox").where(fewRows(database, "outbox", fits, rowsAtOnce));
      last = Number((await few.executeTakeFirst()).numDeletedRows);
    }
    return removed;
  };
  /** Moves some messages that fit. One that somebody moves at the same moment is moved once. */
  const finishSome = (fits: RawBuilder<SqlBool>, { state, at, error }: Ending): Promise<number> =>
    db.transaction().execute(async (transaction) => {
      const gone = await transaction
        .deleteFrom("outbox")
        .where(fewRows(database, "outbox", fits, rowsAtOnce))
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
      // Of two hosts that read the same, one finds it as it was.
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
    keepOnly: (webhooks) =>
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
      const rows = reports.selectFrom("outbox").select(({ fn }) => fn.countAll().as("count"));
      const { count } = await rows.where("type", "=", type).where("webhook", "=", key).executeTakeFirstOrThrow();
      return Number(count);
    },
    async count() {
      const rows = reports.selectFrom("outbox").select(({ fn }) => fn.countAll().as("count"));
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
  const last = await same.orderBy("id", "desc").limit(1).offset(keptMessages).executeTakeFirst();
  if (last === undefined) return;
  await transaction
    .deleteFrom("webhook_history")
    .where("webhook", "=", webhook)
    .where("namespace_id", "=", tenant)
    .where("state", "=", state)
    .where("id", "<=", last.id)
    .execute();
}
