import { sql } from "kysely";
import type { Database } from "../../storage/index.ts";
import { columnText } from "../../shared/index.ts";
import type { TurnId, TurnRow } from "./turn-rows.ts";

/** The columns that are polled while an operator watches turns. */
export type LiveTurnRow = Pick<TurnRow, "id" | "heading" | "status" | "events" | "updated_at">;

/** How many turns of each kind are watched, the newest first. */
const maxLive = 1000;
const columns = ["id", "heading", "status", "events", "updated_at"] as const;

/** The turns of a tenant that run, that wait, or that ended after an instant. */
export async function listLiveTurns(
  { reporting }: Pick<Database, "reporting">,
  namespaceId: string,
  endedAfter: string,
): Promise<LiveTurnRow[]> {
  const tenant = columnText(namespaceId);
  const turns = reporting.selectFrom("turns").select(columns).limit(maxLive);
  const inState = (status: "running" | "waiting") =>
    turns.where("namespace_id", "=", tenant).where("status", "=", status).orderBy("id", "desc").execute();
  // Written as in the partial index of ended turns. The tenant is an expression, so that the planner does not choose an index
  // of tenants and read the tenant's whole past.
  const ended = () =>
    turns
      .where(sql<boolean>`completed_at is not null and is_forgotten = 0`)
      .where("completed_at", ">", endedAfter)
      .where(sql<boolean>`namespace_id || '' = ${tenant}`)
      .orderBy("completed_at", "desc")
      .execute();
  // Ended turns are read last, so that a turn that ends between these queries is found there.
  const [running, waiting, over] = [await inState("running"), await inState("waiting"), await ended()];
  return [...new Map([...running, ...waiting, ...over].map((row) => [row.id, row])).values()];
}

/** These turns, as far as they still exist. */
export async function findLiveTurns(
  { reporting }: Pick<Database, "reporting">,
  ids: readonly TurnId[],
): Promise<LiveTurnRow[]> {
  if (ids.length === 0) return [];
  return reporting.selectFrom("turns").select(columns).where("id", "in", ids).execute();
}
