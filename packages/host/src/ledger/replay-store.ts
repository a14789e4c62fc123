import { sql, type ExpressionBuilder, type OperandExpression, type SqlBool } from "kysely";
import { columnText } from "../base/index.ts";
import type { Database, Schema } from "../storage/index.ts";
import { createUnkeptWrites, type UnkeptWrite } from "./unkept-writes.ts";

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

/** What became of an effect that was begun. */
type Ending =
  | { kind: "finished"; result: string }
  /** It may have happened, and nobody knows its result. */
  | { kind: "interrupted" }
  /** Nothing happened: the key is free. */
  | { kind: "released" };

/**
 * Remembers effects by their ids. Every method throws on an outage. What `finish`, `interrupt` and `release` could not
 * write is tried again until it is kept or the process ends; meanwhile this host answers from memory, and others see
 * that the effect is running.
 */
export interface ReplayStore {
  /** Claims the key, atomically, or says who has it. */
  begin(key: ReplayKey, fingerprint: string): Promise<ReplayState>;
  /** Keeps the result, unless it is larger than is kept: then the key stays taken without one. */
  finish(key: ReplayKey, result: unknown): Promise<void>;
  /** Nobody knows whether the effect happened: the key stays taken for good. */
  interrupt(key: ReplayKey): Promise<void>;
  /** Gives a claimed key back: nothing happened under it. */
  release(key: ReplayKey): Promise<void>;
  /** Forgets results that finished before `at`; their keys stay taken. */
  forgetResults(at: string): Promise<void>;
  /** Tries a last time to write what could not be written. */
  close(): Promise<void>;
}

/** An ending that could not be written. */
interface UnkeptEnding extends UnkeptWrite {
  fingerprint: string;
  ending: Ending;
}

/** The actor of rows from before actors were kept: their ids are taken, whoever asks. */
const anybody = "";

/** The bytes of a result that are kept. */
const maxResultBytes = 262_144;

/** Limits of what a replay store holds in memory. */
export interface ReplayLimits {
  /**
   * The characters of results that wait to be kept; a result beyond them is given up and its key is interrupted. Keys need
   * no limit: nothing is claimed while the database is away, so no more wait than were running when it went.
   */
  maxWaitingLength?: number;
}

/** So many claims whose answer was lost are taken back; those beyond them will look interrupted. */
const maxLostClaims = 10_000;

/** A row without a result belongs to the host that claimed it: running while that lives, interrupted afterwards. */
export function createReplayStore(
  { db, hostId, isAlive }: Database,
  { maxWaitingLength = 67_108_864 }: ReplayLimits = {},
): ReplayStore {
  /** The fingerprints of what runs on this host. */
  const running = new Map<string, string>();
  const claiming = new Map<string, number>();
  const unkept = createUnkeptWrites<UnkeptEnding>();
  /** Whether a key of this host's is in use: it runs, its ending waits, or somebody else is just claiming it. */
  const isInUse = (name: string): boolean =>
    running.has(name) || unkept.get(name) !== undefined || (claiming.get(name) ?? 0) > 1;

  const claim = async (key: ReplayKey, fingerprint: string): Promise<ReplayState> => {
    const { namespace_id, actor, kind, scope, id } = rowOf(key);
    const claimed = await sql`
      insert into replay (namespace_id, actor, kind, scope, id, fingerprint, host_id)
      select ${namespace_id}, ${actor}, ${kind}, ${scope}, ${id}, ${fingerprint}, cast(${hostId} as integer)
      where not exists (select 1 from replay where namespace_id = ${namespace_id} and actor = ${anybody}
        and kind = ${kind} and scope = ${scope} and id = ${id})
      on conflict do nothing returning id`.execute(db);
    if (claimed.rows.length > 0) {
      running.set(nameOf(key), fingerprint);
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

  /** Claims a key while `claiming` says so. */
  const tryToClaim = async (key: ReplayKey, fingerprint: string): Promise<ReplayState> => {
    const name = nameOf(key);
    claiming.set(name, (claiming.get(name) ?? 0) + 1);
    try {
      return await claim(key, fingerprint);
    } catch (error) {
      // The claim may have been made although its answer is lost; nothing ran under it.
      const isHeld = running.has(name) || unkept.get(name) !== undefined;
      if (!isHeld && unkept.size < maxLostClaims) holdBack(key, { kind: "released" }, fingerprint);
      throw error;
    } finally {
      const others = (claiming.get(name) ?? 1) - 1;
      if (others === 0) claiming.delete(name);
      else claiming.set(name, others);
    }
  };

  const write = (key: ReplayKey, ending: Ending): Promise<unknown> => {
    // Nothing but this host's own claim is touched, and not twice.
    const isOpenClaim = (row: ExpressionBuilder<Schema, "replay">): OperandExpression<SqlBool> =>
      row.and([row.and({ ...rowOf(key), host_id: hostId }), row("finished_at", "is", null)]);
    if (ending.kind === "released") return db.deleteFrom("replay").where(isOpenClaim).execute();
    const result = ending.kind === "finished" ? ending.result : null;
    const finished = { result, finished_at: new Date().toISOString() };
    return db.updateTable("replay").set(finished).where(isOpenClaim).execute();
  };

  const holdBack = (key: ReplayKey, ending: Ending, fingerprint: string): void => {
    const name = nameOf(key);
    let length = ending.kind === "finished" ? ending.result.length : 0;
    for (const { ending: held } of unkept.values()) length += held.kind === "finished" ? held.result.length : 0;
    const kept: Ending = length > maxWaitingLength ? { kind: "interrupted" } : ending;
    unkept.add(name, {
      fingerprint,
      ending: kept,
      write: () => write(key, kept),
      // Somebody who claimed the key since, or is about to, keeps it.
      isReady: () => kept.kind !== "released" || !(running.has(name) || claiming.has(name)),
    });
  };

  const end = async (key: ReplayKey, ending: Ending): Promise<void> => {
    const name = nameOf(key);
    try {
      await write(key, ending);
    } catch (error) {
      holdBack(key, ending, running.get(name) ?? "");
      throw error;
    } finally {
      running.delete(name);
    }
  };

  return {
    async begin(key, fingerprint) {
      const held = unkept.get(nameOf(key));
      if (held === undefined) return tryToClaim(key, fingerprint);
      if (held.ending.kind === "released") {
        const isFree = await unkept.settle(nameOf(key));
        return isFree ? tryToClaim(key, fingerprint) : { kind: "running" };
      }
      if (held.fingerprint !== fingerprint) return { kind: "conflict" };
      if (held.ending.kind === "interrupted") return { kind: "interrupted" };
      return { kind: "finished", result: JSON.parse(held.ending.result) as unknown };
    },
    finish(key, result) {
      const text = JSON.stringify(result);
      const isKept = Buffer.byteLength(text) <= maxResultBytes;
      return end(key, isKept ? { kind: "finished", result: text } : { kind: "interrupted" });
    },
    interrupt: (key) => end(key, { kind: "interrupted" }),
    release: (key) => end(key, { kind: "released" }),
    async forgetResults(at) {
      await db
        .updateTable("replay")
        .set({ result: null })
        .where("finished_at", "<", at)
        .where("result", "is not", null)
        .execute();
    },
    close: () => unkept.close(),
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

/** Rows by which the key is taken: its own, or one that is anybody's. */
function isTakenBy(key: ReplayKey): (row: ExpressionBuilder<Schema, "replay">) => OperandExpression<SqlBool> {
  const { actor, ...rest } = rowOf(key);
  return (row) => row.and([row.and(rest), row("actor", "in", [actor, anybody])]);
}
