import { randomUUID } from "node:crypto";
import { sql } from "kysely";
import { columnText } from "../shared/index.ts";
import { limitRows, type Database } from "../storage/index.ts";
import type { Ledger } from "./ledger.ts";
import { CallClaim } from "./call-claim.ts";
import type { AuditEntry } from "./chain.ts";
import type { Claim, Ending, KeyColumns, ReplayRow, Submission } from "./submission.ts";
import { createRetryQueue, type PendingWrite } from "./retry-queue.ts";

/** The key of an effect: two requests with the same key are the same effect. */
export interface ReplayKey {
  namespaceId: string;
  /** Who chose the id. No actor can use up, or learn, the ids of another. */
  actor: string;
  kind: "tool" | "resource" | "message" | "turn";
  /** What the id is unique in: a trace or an execution for tool calls, nothing for the others. */
  scope: string;
  id: string;
}

/** What is known about a requested effect. */
export type ReplayState =
  | { kind: "new" }
  | { kind: "finished"; result: unknown }
  | { kind: "running" }
  | { kind: "interrupted" }
  | { kind: "conflict" };

/**
 * The caller must not get the result of a call, because no host would replay it. Another host held this one for dead and ended the
 * claim, or may still do so before the result is stored.
 */
export class FencedResultError extends Error {
  override readonly name = "FencedResultError";
  constructor() {
    super("Another host has ended the claim of this call, or may have.");
  }
}

/**
 * Records effects by their ids. Every method throws on an outage. Failed writes of `finish`, `interrupt` and `release` are
 * retried until they succeed or the process ends. Meanwhile a host that has the database for itself answers from memory. Where others
 * share it, they see that the effect is running until they hold this host for dead.
 */
export interface ReplayStore {
  /** Claims the key atomically, or returns what is known of the effect that has it. */
  begin(key: ReplayKey, fingerprint: string): Promise<ReplayState>;
  /** A claim of the key, to be made with the first write of the call; or what is known of the key already. */
  open(key: ReplayKey, fingerprint: string): Promise<OpenClaim | Exclude<ReplayState, { kind: "new" }>>;
  /**
   * Records the result. If it is too large, the key stays taken without a result. The result of a read is retained for a shorter
   * time. The entries are written with it, also when the result is not: then it throws a `FencedResultError`.
   */
  finish(key: ReplayKey, result: unknown, effect?: "read" | "write", entries?: readonly AuditEntry[]): Promise<void>;
  /**
   * Waits until a result that could not be recorded at once may be told. Throws a `FencedResultError` when it may not: another host
   * has ended the claim, or this one is not present any more.
   */
  mayTell(key: ReplayKey): Promise<void>;
  /** Records that it is unknown whether the effect happened: the key stays taken for good. */
  interrupt(key: ReplayKey, entries?: readonly AuditEntry[]): Promise<void>;
  /** Releases a claimed key, because nothing happened under it. */
  release(key: ReplayKey, entries?: readonly AuditEntry[]): Promise<void>;
  /** Removes up to `most` results of a kind that finished before `at`, the oldest first. Returns how many. Their keys stay taken. */
  forgetResults(of: ResultKind, at: string, most: number): Promise<number>;
  /** Retries all failed writes a last time. */
  close(): Promise<void>;
}

/** A claim that a call may make. */
interface OpenClaim {
  readonly kind: "open";
  readonly claim: CallClaim;
  /**
   * The outcome of the claim, which is made now if the call has not done so. Undefined when the key was taken and is free again:
   * the call may be tried once more. Throws when the outcome is unknown.
   */
  settle(): Promise<ReplayState | { kind: "given back" } | undefined>;
}

/** One claim of a key by this host. A released key can be claimed again, so the key alone does not identify a claim. */
interface OwnClaim extends Claim {
  /** Its outcome, while that is not written yet. */
  outcome?: Ending["outcome"];
  /** Another host has ended it. */
  isFenced?: boolean;
}

/** An ending that could not be written. */
interface PendingEnding extends PendingWrite {
  outcome: Ending["outcome"];
}

/** The kind of results: those of tools that only read, or all others. */
type ResultKind = "reads" | "writes";

const resultKinds: Record<ResultKind, { isRead: 0 | 1; kinds: readonly ReplayKey["kind"][] }> = {
  reads: { isRead: 1, kinds: ["tool"] },
  writes: { isRead: 0, kinds: ["tool", "resource", "message", "turn"] },
};

/** The largest result that is recorded. */
const maxResultBytes = 262_144;

/** Limits of what a replay store holds in memory. */
export interface ReplayLimits {
  /**
   * The characters of results that wait to be written. A result beyond them is dropped and its key is interrupted. Keys need no
   * limit: nothing is claimed during an outage, so no more wait than were running when it began.
   */
  maxWaitingLength?: number;
  /** How many claims whose answer was lost are released later. Those beyond it appear as interrupted. */
  maxLostClaims?: number;
}

/** A row that has not finished belongs to the host that claimed it: its effect is running while that host runs, interrupted afterwards. */
export function createReplayStore(
  database: Database,
  ledger: Ledger,
  { maxWaitingLength = 67_108_864, maxLostClaims = 10_000 }: ReplayLimits = {},
): ReplayStore {
  const { db, hostId, isAlive, isShared, isPresent } = database;
  /** This host's latest claim of each key, until its ending is written. */
  const claims = new Map<string, OwnClaim>();
  /** The nonces of claims that are being made. */
  const claiming = new Set<string>();
  /** Endings by the nonces of their claims. */
  const retryQueue = createRetryQueue<PendingEnding>();
  /** Whether this host still has a claim: it is being made, it runs, or its ending is not written yet. */
  const isInUse = (name: string, nonce: string): boolean =>
    claiming.has(nonce) || claims.get(name)?.nonce === nonce || retryQueue.get(nonce) !== undefined;
  /** Removes a claim of this host. A later claim of the same key remains. */
  const forget = (name: string, mine: OwnClaim): void => {
    if (claims.get(name) === mine) claims.delete(name);
  };

  /** The state in the row of another claim; undefined when the key is free again. */
  const stateOf = async (
    name: string,
    mine: OwnClaim,
    first: ReplayRow | undefined,
  ): Promise<Exclude<ReplayState, { kind: "new" }> | undefined> => {
    if (first === undefined) return undefined;
    if (first.fingerprint !== mine.fingerprint) return { kind: "conflict" };
    if (first.result !== null) return { kind: "finished", result: JSON.parse(first.result) as unknown };
    if (first.finished_at !== null) return { kind: "interrupted" };
    const isRunning = first.host_id === hostId ? isInUse(name, first.claim) : await isAlive(first.host_id);
    if (isRunning) return { kind: "running" };
    // INVARIANT: what is said to be interrupted stays so. Without its nonce the host that made the claim cannot end it any more, if it
    // was only paused or cut off. The claim may have finished, or another one may have replaced it, since it was read.
    const { numUpdatedRows } = await db
      .updateTable("replay")
      .set({ finished_at: new Date().toISOString(), claim: "" })
      .where((row) => row.and({ ...keyOf(first), claim: first.claim }))
      .where("finished_at", "is", null)
      .executeTakeFirst();
    return numUpdatedRows > 0n ? { kind: "interrupted" } : undefined;
  };

  const openClaim = (key: ReplayKey, fingerprint: string): OpenClaim => {
    const name = nameOf(key);
    const mine: OwnClaim = { key: columnsOf(key), nonce: randomUUID(), fingerprint };
    claiming.add(mine.nonce);
    const claim = new CallClaim(ledger, mine, (state) => {
      if (state.kind === "made") claims.set(name, mine);
      // The claim may have been made although its answer was lost. Nothing ran under it.
      if (state.kind === "failed" && retryQueue.size < maxLostClaims) {
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

  /** What this host knows of a key whose ending is not written yet; undefined when it has to read the database. */
  const heldState = async (
    key: ReplayKey,
    fingerprint: string,
  ): Promise<Exclude<ReplayState, { kind: "new" }> | undefined> => {
    const held = claims.get(nameOf(key));
    if (held?.outcome === undefined) return undefined;
    // Where others share the database, a result is told only once it is stored.
    if (held.outcome.kind === "released" || isShared) {
      await retryQueue.settle(held.nonce);
      return undefined;
    }
    if (held.fingerprint !== fingerprint) return { kind: "conflict" };
    if (held.outcome.kind === "interrupted") return { kind: "interrupted" };
    return { kind: "finished", result: JSON.parse(held.outcome.result) as unknown };
  };

  /**
   * Whether the end of a claim was written, with its events, and only the answer was lost. Its row is gone when it was released, and
   * is another's when another host has ended it. Then the events tell.
   */
  const isEnded = async (mine: OwnClaim, [first]: readonly AuditEntry[]): Promise<boolean> => {
    const row = db
      .selectFrom("replay")
      .select("finished_at")
      .where((column) => column.and({ ...mine.key, claim: mine.nonce }));
    // PostgreSQL may still be committing a write that it has not answered: the lock waits for that.
    const found = await (database.kind === "postgres" ? row.forUpdate() : row).executeTakeFirst();
    if (found !== undefined) return found.finished_at !== null;
    if (first === undefined) return false;
    mine.isFenced = true;
    const { namespace_id, trace_id, at, id } = first;
    const event = db
      .selectFrom("audit")
      .select("id")
      .where((column) => column.and({ namespace_id, trace_id, at, id }));
    return (await event.executeTakeFirst()) !== undefined;
  };

  const submitEnd = async (
    mine: OwnClaim,
    outcome: Ending["outcome"],
    entries: readonly AuditEntry[],
  ): Promise<void> => {
    const written = await ledger.submit(endingOf(mine, outcome, entries));
    mine.isFenced = written.kind === "written" && written.isFenced === true;
  };

  const holdBack = (
    name: string,
    mine: OwnClaim,
    outcome: Ending["outcome"],
    entries: readonly AuditEntry[] = [],
  ): void => {
    let length = outcome.kind === "finished" ? outcome.result.length : 0;
    for (const { outcome: held } of retryQueue.values()) length += held.kind === "finished" ? held.result.length : 0;
    const pending: Ending["outcome"] = length > maxWaitingLength ? { kind: "interrupted" } : outcome;
    mine.outcome = pending;
    retryQueue.add(mine.nonce, {
      outcome: pending,
      write: async () => {
        if (entries.length === 0 || !(await isEnded(mine, entries))) await submitEnd(mine, pending, entries);
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
    // This host has no running effect of this key.
    if (mine === undefined || mine.outcome !== undefined) return;
    try {
      await submitEnd(mine, outcome, entries);
    } catch (error) {
      holdBack(name, mine, outcome, entries);
      throw error;
    }
    forget(name, mine);
    if (mine.isFenced === true && outcome.kind === "finished") throw new FencedResultError();
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
      const isRecorded = Buffer.byteLength(text) <= maxResultBytes;
      const isRead = effect === "read";
      return end(key, isRecorded ? { kind: "finished", result: text, isRead } : { kind: "interrupted" }, entries);
    },
    async mayTell(key) {
      const mine = claims.get(nameOf(key));
      if (!isShared || mine === undefined) return;
      const isWritten = await retryQueue.written(mine.nonce, isPresent);
      if (!isWritten || mine.isFenced === true) throw new FencedResultError();
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
        .where(limitRows(database, "replay", old, most))
        .executeTakeFirst();
      return Number(numUpdatedRows);
    },
    close: () => retryQueue.close(),
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
