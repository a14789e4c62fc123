import { sql } from "kysely";
import type { Database } from "../../storage/index.ts";
import { columnText } from "../../base/index.ts";
import type { TurnId, TurnRow } from "./turn-rows.ts";

/** What is looked at again and again while somebody watches turns. */
export type LiveTurnRow = Pick<TurnRow, "id" | "heading" | "status" | "events" | "updated_at">;

/** So many turns of each kind are watched: the newest. */
const maxLive = 1000;
const columns = ["id", "heading", "status", "events", "updated_at"] as const;

/** The turns of a tenant that run, that wait, or that ended after an instant. */
export async function listLiveTurns(
  { reports }: Pick<Database, "reports">,
  namespaceId: string,
  endedAfter: string,
): Promise<LiveTurnRow[]> {
  const tenant = columnText(namespaceId);
  const turns = reports.selectFrom("turns").select(columns).limit(maxLive);
  const inState = (status: "running" | "waiting") =>
    turns.where("namespace_id", "=", tenant).where("status", "=", status).orderBy("id", "desc").execute();
  // Written as it stands in the partial index of turns that ended. An expression is no column: the planner leaves the
  // indexes of tenants alone, in which a tenant's whole past would be looked at.
  const ended = () =>
    turns
      .where(sql<boolean>`completed_at is not null and is_forgotten = 0`)
      .where("completed_at", ">", endedAfter)
      .where(sql<boolean>`namespace_id || '' = ${tenant}`)
      .orderBy("completed_at", "desc")
      .execute();
  // Those that ended come last: one that ends between these queries is found there.
  const [running, waiting, over] = [await inState("running"), await inState("waiting"), await ended()];
  return [...new Map([...running, ...waiting, ...over].map((row) => [row.id, row])).values()];
}

/** These turns, as far as they are still there. */
export async function findLiveTurns(
  { reports }: Pick<Database, "reports">,
  ids: readonly TurnId[],
): Promise<LiveTurnRow[]> {
  if (ids.length === 0) return [];
  return reports.selectFrom("turns").select(columns).where("id", "in", ids).execute();
}
