import { sql, type RawBuilder, type SqlBool } from "kysely";
import { fewRows, type Database, type Schema } from "../storage/index.ts";
import type { Webhook } from "./webhook.ts";

/** A message that this host sends now. */
export type Taken = Pick<Schema["outbox"], "webhook" | "message" | "content" | "created_at"> & {
  id: number;
  attempts: number;
};

/** What webhooks have not been told yet. */
export interface Outbox {
  /** Takes the oldest message of a webhook for a while, if nobody has it and it is due. */
  take(webhook: Webhook, now: Date): Promise<Taken | undefined>;
  /** Has a message tried again from then on. */
  postpone(taken: Taken, until: Date): Promise<void>;
  remove(taken: Taken): Promise<void>;
  /** Removes all messages of a webhook; returns how many. */
  removeAll(webhook: Webhook): Promise<number>;
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
    async postpone({ webhook, id, attempts }, until) {
      await db
        .updateTable("outbox")
        .set({ due_at: until.toISOString() })
        .where("webhook", "=", webhook)
        .where("id", "=", id)
        .where("attempts", "=", attempts)
        .execute();
    },
    async remove({ webhook, id }) {
      await db.deleteFrom("outbox").where("webhook", "=", webhook).where("id", "=", id).execute();
    },
    removeAll: ({ key }) => removeWhere(sql`webhook = ${key}`),
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
