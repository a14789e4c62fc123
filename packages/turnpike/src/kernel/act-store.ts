import type { AccessContext, ActError, AuditEvent, JsonValue, PrincipalRef } from "../contracts/index.ts";
import type { Reserved } from "./budget-store.ts";
import type { GrantUse, WriteScope } from "./write-scope.ts";

/** What names an act. An actor cannot use up, or learn of, the ids of another. */
export interface ActKey {
  namespaceId: string;
  actor: PrincipalRef;
  /** The execution that the act began with, or else its trace. The two cannot be mistaken for each other. */
  scope: string;
  id: string;
}

/** An act to begin. */
export interface NewAct {
  tool: string;
  /** Equal for two requests for the same act, whenever they were made. */
  fingerprint: string;
  /** The end of its lease. */
  expiresAt: string;
  /** The context that it is decided in, for what is recorded of it later. */
  context: ActContext;
}

/** The fields of a context that the events of an act share. */
export type ActContext = Pick<AccessContext, "authority" | "owner" | "purpose" | "traceId" | "executionId">;

/** What an act that was allowed has taken. */
export interface ActTaken {
  /** The ids of all grants that it was decided under. */
  grants: readonly string[];
  uses: readonly GrantUse[];
  permit?: { namespaceId: string; id: string } | undefined;
  /** What is reserved for it. The kernel settles that once the outcome is stored; until then it stays reserved. */
  reserved?: Reserved | undefined;
}

/** What was decided about an act: what it took, or that it took nothing. */
export type ActVerdict =
  | { kind: "allowed"; taken: ActTaken }
  /** `requestHash` names the act while a person is asked about it. */
  | { kind: "refused"; requestHash?: string | undefined };

/** How an act ended. */
export interface ActEnd {
  status: "succeeded" | "failed";
  output?: JsonValue;
  error?: ActError;
  completedAt: string;
  /** It was reported after the lease. */
  isLate: boolean;
}

/** An act that began. */
export interface StoredAct extends NewAct {
  /** Tells this beginning of the act from every other under the same key. */
  claim: string;
  taken: ActTaken;
  /** Absent until its outcome was reported. `"lost"` when that is not stored, because it is too large or too old. */
  end?: ActEnd | "lost";
}

/** The outcome of the attempt to begin an act. `refused` is a decision, so that nothing was taken. */
export type ActBegun = { kind: "begun" | "refused" } | { kind: "known"; act: StoredAct };

/** An outcome to store. */
export interface ActReport {
  /** Equal for two reports of the same outcome. */
  fingerprint: string;
  end: ActEnd;
  /** Nothing happened: the key becomes free, and what the act took is given back. */
  isFree: boolean;
  /** Absent when there is no audit log. */
  event?: AuditEvent | undefined;
}

/**
 * Stores acts whose effects happen elsewhere. An act belongs to its lease: nothing changes when the process ends that began it. Every
 * method throws on an outage.
 */
export interface ActStore {
  /**
   * Takes the key and calls `decide`. The act, or the request hash of one that waits, is stored together with the decision where
   * `decide` is given a scope for its writes. When it is refused or throws, the key is free, and nothing stays taken. Resolves with
   * `known`, whose act may have ended, when the key is not free.
   */
  begin(key: ActKey, act: NewAct, decide: (writes: WriteScope | undefined) => Promise<ActVerdict>): Promise<ActBegun>;
  /**
   * Stores the first outcome of a beginning, its event, and what comes back, in one step. Nothing is stored when there is an outcome
   * already; `isSame` then says whether it has the same fingerprint. A permit comes back only while it would still count.
   */
  finish(key: ActKey, act: StoredAct, report: ActReport): Promise<"stored" | { isSame: boolean }>;
  /**
   * What this process remembers of an act that it began, to spare a read before `finish`. The act may have ended since, or have begun
   * anew elsewhere.
   */
  recall?(key: ActKey): StoredAct | undefined;
  /** The last act that began under this key; undefined when none did. */
  find(key: ActKey): Promise<StoredAct | undefined>;
  /** The request hash of the last act that was refused under this key because a person had to approve it. It may be long ago. */
  findWaiting(key: ActKey): Promise<string | undefined>;
}
