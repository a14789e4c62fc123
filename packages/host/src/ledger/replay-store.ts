import { randomUUID } from "node:crypto";
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

/** One claim of a key by this host. A key that was given back can be claimed again, so its name alone says too little. */
interface Claim {
  /** Kept in the row: INVARIANT: what became of a claim is only ever written to the row of that claim. */
  nonce: string;
  fingerprint: string;
  /** What became of it, while that waits to be written. */
  ending?: Ending;
}

/** An ending that could not be written. */
interface UnkeptEnding extends UnkeptWrite {
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
  /** This host's latest claim of each key, until its ending is written. */
  const claims = new Map<string, Claim>();
  /** The nonces of claims that are being made. */
  const claiming = new Set<string>();
  /** Endings by the nonces of their claims. */
  const unkept = createUnkeptWrites<UnkeptEnding>();
  /** Whether this host still has a claim: it is being made, it runs, or its ending waits. */
  const isInUse = (name: string, nonce: string): boolean =>
    claiming.has(nonce) || claims.get(name)?.nonce === nonce || unkept.get(nonce) !== undefined;
  /** A later claim of the same key stays. */
  const forget = (name: string, mine: Claim): void => {
    if (claims.get(name) === mine) claims.delete(name);
  };

  const claim = async (key: ReplayKey, mine: Claim): Promise<ReplayState> => {
    const { namespace_id, actor, kind, scope, id } = rowOf(key);
    const claimed = await sql`
      insert into replay (namespace_id, actor, kind, scope, id, fingerprint, host_id, claim)
      select ${namespace_id}, ${actor}, ${kind}, ${scope}, ${id}, ${mine.fingerprint}, cast(${hostId} as integer),
        ${mine.nonce}
      where not exists (select 1 from replay where namespace_id = ${namespace_id} and actor = ${anybody}
        and kind = ${kind} and scope = ${scope} and id = ${id})
      on conflict do nothing returning id`.execute(db);
    if (claimed.rows.length > 0) {
      claims.set(nameOf(key), mine);
      return { kind: "new" };
    }
    const first = await db.selectFrom("replay").selectAll().where(isTakenBy(key)).executeTakeFirst();
    // Given back between the two statements: free again.
    if (first === undefined) return claim(key, mine);
    if (first.fingerprint !== mine.fingerprint) return { kind: "conflict" };
    if (first.result !== null) return { kind: "finished", result: JSON.parse(first.result) as unknown };
    if (first.finished_at !== null) return { kind: "interrupted" };
    const goesOn = first.host_id === hostId ? isInUse(nameOf(key), first.claim) : await isAlive(first.host_id);
    if (goesOn) return { kind: "running" };
    // It may have finished, or given way to another claim, since it was read.
    const now = await db.selectFrom("replay").select(["finished_at", "claim"]).where(isTakenBy(key)).executeTakeFirst();
    const isTheSame = now?.finished_at === null && now.claim === first.claim;
    return isTheSame ? { kind: "interrupted" } : claim(key, mine);
  };

  /** Claims a key while `claiming` says so. */
  const tryToClaim = async (key: ReplayKey, fingerprint: string): Promise<ReplayState> => {
    const mine: Claim = { nonce: randomUUID(), fingerprint };
    claiming.add(mine.nonce);
    try {
      return await claim(key, mine);
    } catch (error) {
      // The claim may have been made although its answer is lost; nothing ran under it.
      if (unkept.size < maxLostClaims) {
        if (!claims.has(nameOf(key))) claims.set(nameOf(key), mine);
        holdBack(key, mine, { kind: "released" });
      }
      throw error;
    } finally {
      claiming.delete(mine.nonce);
    }
  };

  const write = (key: ReplayKey, { nonce }: Claim, ending: Ending): Promise<unknown> => {
    // Nothing but this very claim is touched, and not twice.
    const isOpenClaim = (row: ExpressionBuilder<Schema, "replay">): OperandExpression<SqlBool> =>
      row.and([row.and({ ...rowOf(key), claim: nonce }), row("finished_at", "is", null)]);
    if (ending.kind === "released") return db.deleteFrom("replay").where(isOpenClaim).execute();
    const result = ending.kind === "finished" ? ending.result : null;
    const finished = { result, finished_at: new Date().toISOString() };
    return db.updateTable("replay").set(finished).where(isOpenClaim).execute();
  };

  const holdBack = (key: ReplayKey, mine: Claim, ending: Ending): void => {
    let length = ending.kind === "finished" ? ending.result.length : 0;
    for (const { ending: held } of unkept.values()) length += held.kind === "finished" ? held.result.length : 0;
    const kept: Ending = length > maxWaitingLength ? { kind: "interrupted" } : ending;
    mine.ending = kept;
    unkept.add(mine.nonce, {
      ending: kept,
      write: async () => {
        await write(key, mine, kept);
        forget(nameOf(key), mine);
      },
    });
  };

  const end = async (key: ReplayKey, ending: Ending): Promise<void> => {
    const mine = claims.get(nameOf(key));
    // Nothing runs under this key here.
    if (mine === undefined || mine.ending !== undefined) return;
    try {
      await write(key, mine, ending);
    } catch (error) {
      holdBack(key, mine, ending);
      throw error;
    }
    forget(nameOf(key), mine);
  };

  return {
    async begin(key, fingerprint) {
      const held = claims.get(nameOf(key));
      if (held?.ending === undefined) return tryToClaim(key, fingerprint);
      if (held.ending.kind === "released") {
        await unkept.settle(held.nonce);
        return tryToClaim(key, fingerprint);
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
