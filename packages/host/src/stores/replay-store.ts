import { sql, type ExpressionBuilder, type OperandExpression, type SqlBool } from "kysely";
import { columnText } from "../database/column-text.ts";
import type { Database } from "../database/database.ts";
import type { Schema } from "../database/schema.ts";

/** What makes two requests the same effect. */
export interface ReplayKey {
  namespaceId: string;
  /** Who chose the id: nobody uses up, or learns of, the ids of somebody else. */
  actor: string;
  kind: "tool" | "resource" | "message" | "turn";
  /** What the id is unique in: a trace or an execution for tool calls, nothing for the others. */
  scope: string;
  id: string;
}

/** What is known about an effect that is asked for. */
export type ReplayState =
  | { kind: "new" }
  | { kind: "finished"; result: unknown }
  | { kind: "running" }
  | { kind: "interrupted" }
  | { kind: "conflict" };

/** Remembers effects by their ids. Every method throws on an outage. */
export interface ReplayStore {
  /** Claims the key, atomically, or says who has it. */
  begin(key: ReplayKey, fingerprint: string): Promise<ReplayState>;
  finish(key: ReplayKey, result: unknown): Promise<void>;
  /** Gives a claimed key back: nothing happened under it. */
  release(key: ReplayKey): Promise<void>;
  /** Forgets results that finished before `at`; their keys stay taken. */
  forgetResults(at: string): Promise<void>;
}

/** The actor of rows from before actors were kept: their ids are taken, whoever asks. */
const anybody = "";

/** A row without a result belongs to the host that claimed it: running while that lives, interrupted afterwards. */
export function createReplayStore({ db, hostId, isAlive }: Database): ReplayStore {
  const running = new Set<string>();
  const claiming = new Map<string, number>();
  /** Whether a key of this host's is in use: it runs, or somebody else is just claiming it. */
  const isInUse = (name: string): boolean => running.has(name) || (claiming.get(name) ?? 0) > 1;

  const claim = async (key: ReplayKey, fingerprint: string): Promise<ReplayState> => {
    const { namespace_id, actor, kind, scope, id } = rowOf(key);
    const claimed = await sql`
      insert into replay (namespace_id, actor, kind, scope, id, fingerprint, host_id)
      select ${namespace_id}, ${actor}, ${kind}, ${scope}, ${id}, ${fingerprint}, cast(${hostId} as integer)
      where not exists (select 1 from replay where namespace_id = ${namespace_id} and actor = ${anybody}
        and kind = ${kind} and scope = ${scope} and id = ${id})
      on conflict do nothing returning id`.execute(db);
    if (claimed.rows.length > 0) {
      running.add(nameOf(key));
      return { kind: "new" };
    }
    const first = await db.selectFrom("replay").selectAll().where(isTakenBy(key)).executeTakeFirst();
    // Given back between the two statements: free again.
    if (first === undefined) return claim(key, fingerprint);
    if (first.fingerprint !== fingerprint) return { kind: "conflict" };
    if (first.result !== null) return { kind: "finished", result: JSON.parse(first.result) as unknown };
    if (first.finished_at !== null) return { kind: "interrupted" };
    const goesOn = first.host_id === hostId ? isInUse(nameOf(key)) : await isAlive(first.host_id);
    if (goesOn) return { kind: "running" };
    // It may have finished since it was read.
    const now = await db.selectFrom("replay").select("finished_at").where(isTakenBy(key)).executeTakeFirst();
    return now?.finished_at === null ? { kind: "interrupted" } : claim(key, fingerprint);
  };

  return {
    async begin(key, fingerprint) {
      const name = nameOf(key);
      claiming.set(name, (claiming.get(name) ?? 0) + 1);
      try {
        return await claim(key, fingerprint);
      } finally {
        const others = (claiming.get(name) ?? 1) - 1;
        if (others === 0) claiming.delete(name);
        else claiming.set(name, others);
      }
    },
    async finish(key, result) {
      const finished = { result: JSON.stringify(result), finished_at: new Date().toISOString() };
      try {
        await db.updateTable("replay").set(finished).where(matches(key)).execute();
      } finally {
        running.delete(nameOf(key));
      }
    },
    async release(key) {
      try {
        await db.deleteFrom("replay").where(matches(key)).where("host_id", "=", hostId).execute();
      } finally {
        running.delete(nameOf(key));
      }
    },
    async forgetResults(at) {
      await db
        .updateTable("replay")
        .set({ result: null })
        .where("finished_at", "<", at)
        .where("result", "is not", null)
        .execute();
    },
  };
}

type KeyColumns = Pick<Schema["replay"], "namespace_id" | "actor" | "kind" | "scope" | "id">;

function rowOf({ namespaceId, actor, kind, scope, id }: ReplayKey): KeyColumns {
  return {
    namespace_id: columnText(namespaceId),
    actor: columnText(actor),
    kind,
    scope: columnText(scope),
    id: columnText(id),
  };
}

function nameOf({ namespaceId, actor, kind, scope, id }: ReplayKey): string {
  return JSON.stringify([namespaceId, actor, kind, scope, id]);
}

type IsRow = (row: ExpressionBuilder<Schema, "replay">) => OperandExpression<SqlBool>;

/** Rows by which the key is taken: its own, or one that is anybody's. */
function isTakenBy(key: ReplayKey): IsRow {
  const { actor, ...rest } = rowOf(key);
  return (row) => row.and([row.and(rest), row("actor", "in", [actor, anybody])]);
}

function matches(key: ReplayKey): IsRow {
  return (row) => row.and(rowOf(key));
}
