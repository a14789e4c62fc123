import type { LiveTurnRow } from "../turns/index.ts";

/** What was last seen of the turns that are watched: their state and how many events they have. */
export type SeenTurns = ReadonlyMap<string, string>;

/** So many turns are remembered. Of more, those that left the list of live turns are not searched for. */
const maxSeen = 4000;

/** The turns that were seen before and that the list has no more: they ended, or they went from one state to another meanwhile. */
export function missingFrom(seen: SeenTurns, listed: readonly LiveTurnRow[]): string[] {
  const found = new Set(listed.map(({ id }) => id));
  return [...seen.keys()].filter((id) => !found.has(id));
}

/** The turns that are not as they were last seen, and what to remember of all of them. */
export function compareTurns(
  seen: SeenTurns,
  listed: readonly LiveTurnRow[],
  missing: readonly LiveTurnRow[],
): { changed: LiveTurnRow[]; seen: SeenTurns } {
  const changed = [...listed, ...missing].filter((row) => seen.get(row.id) !== markOf(row));
  const next = new Map(listed.map((row) => [row.id, markOf(row)]));
  for (const row of missing) if (isLive(row) && next.size < maxSeen) next.set(row.id, markOf(row));
  return { changed, seen: next };
}

function isLive({ status }: LiveTurnRow): boolean {
  return status === "running" || status === "waiting";
}

function markOf({ status, events }: LiveTurnRow): string {
  return `${status} ${events}`;
}
