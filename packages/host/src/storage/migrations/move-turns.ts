import { randomBytes } from "node:crypto";
import { sql, type QueryExecutorProvider } from "kysely";
import type { DataMove } from "./migration.ts";

// The data move of 0012-turns, frozen: it is a copy on purpose and imports nothing from the rooms. It is code because
// PostgreSQL cannot take JSON apart that has an escaped NUL in it.

const rowsAtOnce = 50;

interface OldTurn {
  namespace_id: string;
  actor: string;
  id: string;
  fingerprint: string;
  result: string | null;
  finished_at: string | null;
}

interface OldResult {
  status: string;
  executionId: string;
  traceId: string;
  startedAt: string;
  completedAt: string;
  events: { sequence: number }[];
}

/** Makes a turn of every turn that replay protection knew: its id stays taken, and its result is answered again. */
export const moveTurns: DataMove = async (db) => {
  let last: Pick<OldTurn, "namespace_id" | "actor" | "id"> | undefined = { namespace_id: "", actor: "", id: "" };
  while (last !== undefined) {
    const page: readonly OldTurn[] = await readBehind(db, last);
    for (const old of page) await copy(db, old);
    last = page.length < rowsAtOnce ? undefined : page.at(-1);
  }
  await sql`delete from replay where kind = 'turn'`.execute(db);
};

async function readBehind(
  db: QueryExecutorProvider,
  { namespace_id, actor, id }: Pick<OldTurn, "namespace_id" | "actor" | "id">,
): Promise<readonly OldTurn[]> {
  const { rows } = await sql<OldTurn>`select namespace_id, actor, id, fingerprint, result, finished_at from replay
    where (namespace_id, actor, kind, scope, id) > (${namespace_id}, ${actor}, 'turn', '', ${id}) and kind = 'turn'
    order by namespace_id, actor, kind, scope, id limit ${sql.lit(rowsAtOnce)}`.execute(db);
  return rows;
}

async function copy(db: QueryExecutorProvider, old: OldTurn): Promise<void> {
  const { namespace_id, actor, id: executionId, fingerprint } = old;
  const { events, ...result } = old.result === null ? interrupted(old) : (JSON.parse(old.result) as OldResult);
  const id = idOf(result.startedAt);
  const heading = {
    executionId: result.executionId,
    traceId: result.traceId,
    agent: { kind: "agent", agentId: /^agent:(.+)$/su.exec(actor)?.[1] ?? "unknown" },
    actor: actor === "" ? "agent:unknown" : actor,
  };
  await sql`insert into turns (id, namespace_id, actor, execution_id, fingerprint, is_async, status, run, heading, result,
      steps, tool_calls, ran_ms, entries, events, started_at, updated_at, completed_at)
    values (${id}, ${namespace_id}, ${actor}, ${executionId}, ${fingerprint}, 0, ${result.status}, 0,
      ${JSON.stringify(heading)}, ${JSON.stringify(result)}, 0, 0, 0, ${events.length}, ${events.length},
      ${instant(result.startedAt)}, ${instant(result.completedAt)}, ${instant(result.completedAt)})`.execute(db);
  for (let from = 0; from < events.length; from += 100) {
    const rows = events.slice(from, from + 100).map((event, place) => {
      const values = [id, from + place, "event", event.sequence, JSON.stringify(event)];
      return sql`(${sql.join(values)})`;
    });
    await sql`insert into turn_entries (turn, position, kind, sequence, content) values ${sql.join(rows)}`.execute(db);
  }
}

/** What is said of a turn whose result nobody has. */
function interrupted({ id, finished_at }: OldTurn): OldResult & Record<string, unknown> {
  const at = finished_at ?? new Date().toISOString();
  return {
    status: "failed",
    version: 1,
    executionId: id,
    traceId: id,
    startedAt: at,
    completedAt: at,
    error: {
      code: "turn_interrupted",
      message: "The turn ended without a result that is kept; what it did may have happened.",
      retryable: false,
    },
    events: [],
  };
}

/** As the host writes instants, so that they sort by time. */
function instant(text: string): string {
  return new Date(text).toISOString();
}

/** Ids sort by age. Microseconds in base 36 have ten digits until the year 2085. */
function idOf(at: string): string {
  return `t${(Date.parse(at) * 1000).toString(36).padStart(10, "0")}${randomBytes(3).toString("hex")}`;
}
