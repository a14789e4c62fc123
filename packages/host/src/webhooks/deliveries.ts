import { columnText } from "../shared/index.ts";
import type { Delivery, DeliveryState } from "../admin-contract/index.ts";
import type { Database, Schema } from "../storage/index.ts";
import type { Webhook } from "./webhook.ts";

/** The position of a message in the list. Those that wait come first. */
export interface DeliveryPlace {
  table: "outbox" | "webhook_history";
  id: number;
}

/** Whether a message is due now, and why not. */
type RetryState = "due" | "unknown" | "not configured" | "gone";

/** The messages about a tenant that were sent to webhooks, and those that wait. */
export interface Deliveries {
  /** Lists waiting messages and then finished ones, the newest first, from behind a position. */
  list(
    namespaceId: string,
    options: { state?: DeliveryState | undefined; behind?: DeliveryPlace | undefined; limit: number },
  ): Promise<(Delivery & { place: DeliveryPlace })[]>;
  /** Makes a message due now, also one that was sent before. A message behind another still waits for that one. */
  retry(namespaceId: string, id: string, now: Date): Promise<RetryState>;
}

const columns = ["id", "webhook", "message", "type", "created_at", "attempts", "last_error"] as const;

export function openDeliveries({ db, reporting }: Database, webhooks: readonly Webhook[]): Deliveries {
  const describe = (
    table: DeliveryPlace["table"],
    namespaceId: string,
    row: Pick<Schema["webhook_history"], Exclude<(typeof columns)[number], "id">> & { id: number },
  ) => {
    const number = webhooks.findIndex(({ key }) => key === row.webhook);
    const webhook = webhooks[number];
    return {
      namespaceId,
      id: row.message,
      ...(webhook && { webhook: { number, url: webhook.shown } }),
      type: row.type,
      createdAt: row.created_at,
      attempts: row.attempts,
      ...(row.last_error !== null && { lastError: row.last_error }),
      place: { table, id: row.id },
    };
  };

  const listWaiting = async (
    namespaceId: string,
    state: DeliveryState | undefined,
    behind: number | undefined,
    limit: number,
  ) => {
    let rows = reporting
      .selectFrom("outbox")
      .select([...columns, "due_at"])
      .where("namespace_id", "=", columnText(namespaceId));
    if (state !== undefined) rows = rows.where("attempts", state === "retrying" ? ">" : "=", 0);
    if (behind !== undefined) rows = rows.where("id", "<", behind);
    const found = await rows.orderBy("id", "desc").limit(limit).execute();
    return found.map((row) => ({
      ...describe("outbox", namespaceId, row),
      ...(row.attempts > 0 ? { state: "retrying" as const, nextAttemptAt: row.due_at } : { state: "waiting" as const }),
    }));
  };

  const listOver = async (
    namespaceId: string,
    state: DeliveryState | undefined,
    behind: number | undefined,
    limit: number,
  ) => {
    let rows = reporting
      .selectFrom("webhook_history")
      .select([...columns, "state", "finished_at"])
      .where("namespace_id", "=", columnText(namespaceId));
    if (state === "delivered" || state === "failed") rows = rows.where("state", "=", state);
    if (behind !== undefined) rows = rows.where("id", "<", behind);
    const found = await rows.orderBy("id", "desc").limit(limit).execute();
    return found.map((row) => ({
      ...describe("webhook_history", namespaceId, row),
      state: row.state,
      finishedAt: row.finished_at,
    }));
  };

  return {
    async list(namespaceId, { state, behind, limit }) {
      const isOver = state === "delivered" || state === "failed";
      const waiting =
        isOver || behind?.table === "webhook_history" ? [] : await listWaiting(namespaceId, state, behind?.id, limit);
      if (waiting.length === limit || state === "waiting" || state === "retrying") return waiting;
      const from = behind?.table === "webhook_history" ? behind.id : undefined;
      return [...waiting, ...(await listOver(namespaceId, state, from, limit - waiting.length))];
    },
    async retry(namespaceId, id, now) {
      const asked = { tenant: columnText(namespaceId), id, at: now.toISOString() };
      let state = await makeDue(db, webhooks, asked);
      // The sender may have moved the message from one table to the other between the two reads.
      for (let attempts = 1; state === "unknown" && attempts < 3; attempts += 1)
        state = await makeDue(db, webhooks, asked);
      return state;
    },
  };
}

/** Makes a message due: where it waits, or from the history. */
function makeDue(
  db: Database["db"],
  webhooks: readonly Webhook[],
  { tenant, id, at }: { tenant: string; id: string; at: string },
): Promise<RetryState> {
  const stateOf = (key: string): RetryState => {
    const webhook = webhooks.find((one) => one.key === key);
    return webhook === undefined ? "not configured" : webhook.isGone ? "gone" : "due";
  };
  return db.transaction().execute(async (transaction) => {
    const waiting = await transaction
      .updateTable("outbox")
      .set({ due_at: at })
      .where("message", "=", id)
      .where("namespace_id", "=", tenant)
      .returning("webhook")
      .executeTakeFirst();
    if (waiting !== undefined) return stateOf(waiting.webhook);
    const over = await transaction
      .selectFrom("webhook_history")
      .selectAll()
      .where("message", "=", id)
      .where("namespace_id", "=", tenant)
      .executeTakeFirst();
    if (over === undefined) return "unknown";
    const state = stateOf(over.webhook);
    if (state !== "due") return state;
    // Of two requests at the same instant, only one finds it.
    const { numDeletedRows } = await transaction
      .deleteFrom("webhook_history")
      .where("id", "=", over.id)
      .executeTakeFirst();
    if (numDeletedRows === 0n) return "due";
    const { id: _id, state: _state, finished_at: _finished, ...row } = over;
    await transaction
      .insertInto("outbox")
      .values({ ...row, due_at: at })
      .execute();
    return "due";
  });
}
