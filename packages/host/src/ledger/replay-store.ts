import { randomUUID } from "node:crypto";
import { sql } from "kysely";
import { columnText } from "../base/index.ts";
import { fewRows, type Database } from "../storage/index.ts";
import { openLedger, type Ledger } from "./ledger.ts";
import { CallClaim } from "./call-claim.ts";
import type { AuditEntry } from "./chain.ts";
import type { Claim, Ending, KeyColumns, ReplayRow, Submission } from "./submission.ts";
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

/**
 * Remembers effects by their ids. Every method throws on an outage. What `finish`, `interrupt` and `release` could not
 * write is tried again until it is kept or the process ends; meanwhile this host answers from memory, and others see
 * that the effect is running.
 */
export interface ReplayStore {
  /** Claims the key, atomically, or says who has it. */
  begin(key: ReplayKey, fingerprint: string): Promise<ReplayState>;
  /** A claim of the key, to be made with the first thing that the call keeps; or what is known without asking for it. */
  open(key: ReplayKey, fingerprint: string): Promise<OpenClaim | Exclude<ReplayState, { kind: "new" }>>;
  /**
   * Keeps the result, unless it is larger than is kept: then the key stays taken without one. That of a read is kept less
   * long. The entries go with it.
   */
  finish(key: ReplayKey, result: unknown, effect?: "read" | "write", entries?: readonly AuditEntry[]): Promise<void>;
  /** Nobody knows whether the effect happened: the key stays taken for good. */
  interrupt(key: ReplayKey, entries?: readonly AuditEntry[]): Promise<void>;
  /** Gives a claimed key back: nothing happened under it. */
  release(key: ReplayKey, entries?: readonly AuditEntry[]): Promise<void>;
  /** Forgets the oldest results of a kind that finished before `at`, at most so many; returns how many. Their keys stay taken. */
  forgetResults(of: ResultKind, at: string, most: number): Promise<number>;
  /** Tries a last time to write what could not be written. */
  close(): Promise<void>;
}

/** A claim that a call may make. */
interface OpenClaim {
  readonly kind: "open";
  readonly claim: CallClaim;
  /**
   * What became of it; made now if the call has not done so. Undefined when the key was taken and is free again: the call
   * may be tried once more. Throws when nobody knows.
   */
  settle(): Promise<ReplayState | { kind: "given back" } | undefined>;
}

/** One claim of a key by this host. A key that was given back can be claimed again, so its name alone says too little. */
interface OwnClaim extends Claim {
  /** What became of it, while that waits to be written. */
  outcome?: Ending["outcome"];
}

/** An ending that could not be written. */
interface UnkeptEnding extends UnkeptWrite {
  outcome: Ending["outcome"];
}

/** Which results: those of tools that only read, and of everything else. */
type ResultKind = "reads" | "writes";

const resultKinds: Record<ResultKind, { isRead: 0 | 1; kinds: readonly ReplayKey["kind"][] }> = {
  reads: { isRead: 1, kinds: ["tool"] },
  writes: { isRead: 0, kinds: ["tool", "resource", "message", "turn"] },
};

/** The bytes of a result that are kept. */
const maxResultBytes = 262_144;

/** Limits of what a replay store holds in memory. */
export interface ReplayLimits {
  /**
   * The characters of results that wait to be kept; a result beyond them is given up and its key is interrupted. Keys need
   * no limit: nothing is claimed while the database is away, so no more wait than were running when it went.
   */
  maxWaitingLength?: number;
  /** So many claims whose answer was lost are taken back; those beyond them will look interrupted. */
  maxLostClaims?: number;
}

/** A row without a result belongs to the host that claimed it: running while that lives, interrupted afterwards. */
export function createReplayStore(
  database: Database,
  { maxWaitingLength = 67_108_864, maxLostClaims = 10_000 }: ReplayLimits = {},
  ledger: Ledger = openLedger(database),
): ReplayStore {
  const { db, hostId, isAlive } = database;
  /** This host's latest claim of each key, until its ending is written. */
  const claims = new Map<string, OwnClaim>();
  /** The nonces of claims that are being made. */
  const claiming = new Set<string>();
  /** Endings by the nonces of their claims. */
  const unkept = createUnkeptWrites<UnkeptEnding>();
  /** Whether this host still has a claim: it is being made, it runs, or its ending waits. */
  const isInUse = (name: string, nonce: string): boolean =>
    claiming.has(nonce) || claims.get(name)?.nonce === nonce || unkept.get(nonce) !== undefined;
  /** A later claim of the same key stays. */
  const forget = (name: string, mine: OwnClaim): void => {
    if (claims.get(name) === mine) claims.delete(name);
  };

  /** What somebody else's row says; undefined when the key is free again. */
  const stateOf = async (
    name: string,
    mine: OwnClaim,
    first: ReplayRow | undefined,
  ): Promise<Exclude<ReplayState, { kind: "new" }> | undefined> => {
    if (first === undefined) return undefined;
    if (first.fingerprint !== mine.fingerprint) return { kind: "conflict" };
    if (first.result !== null) return { kind: "finished", result: JSON.parse(first.result) as unknown };
    if (first.finished_at !== null) return { kind: "interrupted" };
    const goesOn = first.host_id === hostId ? isInUse(name, first.claim) : await isAlive(first.host_id);
    if (goesOn) return { kind: "running" };
    // It may have finished, or given way to another claim, since it was read.
    const now = await db
      .selectFrom("replay")
      .select(["finished_at", "claim"])
      .where((row) => row.and(keyOf(first)))
      .executeTakeFirst();
    const isTheSame = now?.finished_at === null && now.claim === first.claim;
    return isTheSame ? { kind: "interrupted" } : undefined;
  };

  const openClaim = (key: ReplayKey, fingerprint: string): OpenClaim => {
    const name = nameOf(key);
    const mine: OwnClaim = { key: columnsOf(key), nonce: randomUUID(), fingerprint };
    claiming.add(mine.nonce);
    const claim = new CallClaim(ledger, mine, (state) => {
      if (state.kind === "made") claims.set(name, mine);
      // The claim may have been made although its answer is lost; nothing ran under it.
      if (state.kind === "failed" && unkept.size < maxLostClaims) {
        if (!claims.has(name)) claims.set(name, mine);
        holdBack(name, mine, { kind: "released" });
      }
      if (state.kind !== "taken") claiming.delete(mine.nonce);
    });
    return {
      kind: "open",
      claim,
      async settle() {
        const state = await claim.make();
        try {
          if (state.kind === "failed") throw state.error;
          if (state.kind === "taken") return await stateOf(name, mine, state.by);
          return { kind: state.kind === "made" ? "new" : "given back" };
        } finally {
          claiming.delete(mine.nonce);
        }
      },
    };
  };

  /** What this host knows of a key whose ending it could not write yet; undefined when it has to ask. */
  const heldState = async (
    key: ReplayKey,
    fingerprint: string,
  ): Promise<Exclude<ReplayState, { kind: "new" }> | undefined> => {
    const held = claims.get(nameOf(key));
    if (held?.outcome === undefined) return undefined;
    if (held.outcome.kind === "released") {
      await unkept.settle(held.nonce);
      return undefined;
    }
    if (held.fingerprint !== fingerprint) return { kind: "conflict" };
    if (held.outcome.kind === "interrupted") return { kind: "interrupted" };
    return { kind: "finished", result: JSON.parse(held.outcome.result) as unknown };
  };

  /** Whether a claim that was made has no ending: only the answer to it may have been lost, and its events are kept then. */
  const isUnended = async ({ key, nonce }: Claim): Promise<boolean> => {
    const row = db
      .selectFrom("replay")
      .select("claim")
      .where((column) => column.and({ ...key, claim: nonce }))
      .where("finished_at", "is", null);
    // A server that has not answered may still be at it.
    const found = await (database.kind === "postgres" ? row.forUpdate() : row).executeTakeFirst();
    return found !== undefined;
  };

  const holdBack = (
    name: string,
    mine: OwnClaim,
    outcome: Ending["outcome"],
    entries: readonly AuditEntry[] = [],
  ): void => {
    let length = outcome.kind === "finished" ? outcome.result.length : 0;
    for (const { outcome: held } of unkept.values()) length += held.kind === "finished" ? held.result.length : 0;
    const kept: Ending["outcome"] = length > maxWaitingLength ? { kind: "interrupted" } : outcome;
    mine.outcome = kept;
    unkept.add(mine.nonce, {
      outcome: kept,
      write: async () => {
        if (entries.length === 0 || (await isUnended(mine))) await ledger.submit(endingOf(mine, kept, entries));
        forget(name, mine);
      },
    });
  };

  const end = async (
    key: ReplayKey,
    outcome: Ending["outcome"],
    entries: readonly AuditEntry[] = [],
  ): Promise<void> => {
    const name = nameOf(key);
    const mine = claims.get(name);
    // Nothing runs under this key here.
    if (mine === undefined || mine.outcome !== undefined) return;
    try {
      await ledger.submit(endingOf(mine, outcome, entries));
    } catch (error) {
      holdBack(name, mine, outcome, entries);
      throw error;
    }
    forget(name, mine);
  };

  return {
    async begin(key, fingerprint) {
      const held = await heldState(key, fingerprint);
      if (held !== undefined) return held;
      for (;;) {
        const state = await openClaim(key, fingerprint).settle();
        if (state !== undefined && state.kind !== "given back") return state;
      }
    },
    async open(key, fingerprint) {
      return (await heldState(key, fingerprint)) ?? openClaim(key, fingerprint);
    },
    finish(key, result, effect = "write", entries = []) {
      const text = JSON.stringify(result);
      const isKept = Buffer.byteLength(text) <= maxResultBytes;
      const isRead = effect === "read";
      return end(key, isKept ? { kind: "finished", result: text, isRead } : { kind: "interrupted" }, entries);
    },
    interrupt: (key, entries) => end(key, { kind: "interrupted" }, entries),
    release: (key, entries) => end(key, { kind: "released" }, entries),
    async forgetResults(of, at, most) {
      const { isRead, kinds } = resultKinds[of];
      const old = sql<boolean>`is_read = ${isRead} and kind in (${sql.join(kinds)}) and finished_at < ${at}
        and result is not null`;
      const { numUpdatedRows } = await db
        .updateTable("replay")
        .set({ result: null })
        .where(fewRows(database, "replay", old, most))
        .executeTakeFirst();
      return Number(numUpdatedRows);
    },
    close: () => unkept.close(),
  };
}

function endingOf({ key, nonce }: Claim, outcome: Ending["outcome"], entries: readonly AuditEntry[]): Submission {
  return { alternatives: [{ entries }], ending: { key, nonce, outcome } };
}

function columnsOf({ namespaceId, actor, kind, scope, id }: ReplayKey): KeyColumns {
  return {
    namespace_id: columnText(namespaceId),
    actor: columnText(actor),
    kind,
    scope: columnText(scope),
    id: columnText(id),
  };
}

function keyOf({ namespace_id, actor, kind, scope, id }: ReplayRow): KeyColumns {
  return { namespace_id, actor, kind, scope, id };
}

function nameOf({ namespaceId, actor, kind, scope, id }: ReplayKey): string {
  return JSON.stringify([namespaceId, actor, kind, scope, id]);
}
