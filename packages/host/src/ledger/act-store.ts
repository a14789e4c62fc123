import { randomUUID } from "node:crypto";
import type { Selectable } from "kysely";
import { principalKey } from "turnpike/contracts";
import { ServiceHttpError } from "turnpike/http";
import {
  OutdatedReadsError,
  type ActContext,
  type ActEnd,
  type ActKey,
  type ActStore,
  type ActTaken,
  type DecisionChoice,
  type NewAct,
  type StoredAct,
} from "turnpike/kernel";
import { columnText } from "../shared/index.ts";
import { currentBasis, type Database, type Schema } from "../storage/index.ts";
import { alternativesOf, CallClaim } from "./call-claim.ts";
import { entryOf } from "./chain.ts";
import type { Ledger } from "./ledger.ts";
import { createRetryQueue, type PendingWrite } from "./retry-queue.ts";
import {
  grantUse,
  permitUse,
  type ActEnding,
  type Alternative,
  type Claim,
  type KeyColumns,
  type NewActRow,
  type Submission,
} from "./submission.ts";

/** The acts of a host. What they begin with and end with is one submission each. */
export interface HostActStore extends ActStore {
  /** Tries a last time to give back what could not be given back. */
  close(): Promise<void>;
}

type ActRow = Selectable<Schema["acts"]>;
type RowKey = Pick<ActRow, "namespace_id" | "actor" | "scope" | "id">;

/** What is stored of an act besides its columns. */
interface ActContent {
  tool: string;
  context: ActContext;
  taken: ActTaken;
}

/** The largest outcome that is stored. */
const maxOutcomeBytes = 262_144;
/** How many acts a host remembers. */
const maxRecent = 10_000;
const findSql = `select nonce, fingerprint, expires_at, content, status, outcome, completed_at, is_late from acts
  where namespace_id = $1 and actor = $2 and scope = $3 and id = $4`;
const findWaitingSql = `select ask from waiting_acts
  where namespace_id = $1 and actor = $2 and scope = $3 and id = $4`;

/** INVARIANT: a claim of an act belongs to its lease. No host ends it, whichever host began it and whether that host lives. */
export function createActStore(database: Database, ledger: Ledger): HostActStore {
  /** Claims of which it is unknown whether they were made. No one was told of them. */
  const unknown = createRetryQueue<PendingWrite>();
  /** The acts that this host began last, which are mostly reported to it too. */
  const recent = new Map<string, StoredAct>();
  const remember = (key: RowKey, act: StoredAct): void => {
    recent.set(nameOf(key), act);
    for (const oldest of recent.keys()) if (recent.size > maxRecent) recent.delete(oldest);
  };

  const find = async (key: RowKey): Promise<StoredAct | undefined> => {
    const [row] = await database.read<ActRow>(findSql, [key.namespace_id, key.actor, key.scope, key.id]);
    return row && storedOf(row);
  };
  /**
   * INVARIANT: an act has one outcome. The claim of the outcome is named after the beginning, so that a key that is free again can
   * have another one.
   */
  const submitEnd = async (
    ended: ActEnding,
    fingerprint: string,
    entries: Alternative["entries"],
  ): Promise<"stored" | { isSame: boolean }> => {
    const { namespace_id, actor, nonce } = ended;
    const claim: Claim = {
      key: { namespace_id, actor, kind: "outcome", scope: "", id: nonce },
      fingerprint,
      nonce: randomUUID(),
    };
    const freed: Pick<Submission, "ending"> =
      ended.returned === undefined ? {} : { ending: { key: claimKey(ended), nonce, outcome: { kind: "released" } } };
    const outcome = await ledger.submit({ claim, alternatives: [{ entries, ended }], basis: currentBasis(), ...freed });
    if (outcome.kind === "written") return "stored";
    if (outcome.kind === "taken") return { isSame: outcome.by?.fingerprint === fingerprint };
    throw new OutdatedReadsError();
  };
  /** Gives back a beginning that no one was told of. */
  const giveBack = async (key: RowKey, nonce: string): Promise<void> => {
    const act = await find(key);
    if (act?.claim !== nonce || act.end !== undefined) return;
    const error = {
      code: "request_aborted",
      message: "The beginning was not acknowledged.",
      nothingHappened: true as const,
    };
    const end: ActEnd = { status: "failed", error, completedAt: new Date().toISOString(), isLate: false };
    await submitEnd(endingOf(key, act, end, true), "", []);
  };

  return {
    async begin(key, act, decide) {
      const row = rowKey(key);
      for (;;) {
        const claim: Claim = { key: claimKey(row), fingerprint: act.fingerprint, nonce: randomUUID() };
        const scope = new CallClaim(
          ledger,
          claim,
          () => {},
          (choices) => beginnings(row, act, claim.nonce, choices),
        );
        const verdict = await decide(scope);
        const { state } = scope;
        switch (state.kind) {
          case "made":
            if (verdict.kind === "refused") throw new Error("An act began that was refused.");
            remember(row, { ...act, claim: claim.nonce, taken: verdict.taken });
            return { kind: "begun" };
          case "taken": {
            const known = await orUnavailable(find(row));
            if (known?.claim === state.by?.claim && known !== undefined && !isFree(known))
              return { kind: "known", act: known };
            // It was given back meanwhile.
            continue;
          }
          case "failed":
            unknown.add(claim.nonce, { write: () => giveBack(row, claim.nonce) });
            throw unavailable(state.error);
          default:
            return { kind: "refused" };
        }
      }
    },
    finish(key, act, { fingerprint, end, isFree: isFreed, event }) {
      const entries = event === undefined ? [] : [entryOf(event)];
      const row = rowKey(key);
      recent.delete(nameOf(row));
      return orUnavailable(submitEnd(endingOf(row, act, end, isFreed), fingerprint, entries));
    },
    recall: (key) => recent.get(nameOf(rowKey(key))),
    find: (key) => orUnavailable(find(rowKey(key))),
    async findWaiting(key) {
      const { namespace_id, actor, scope, id } = rowKey(key);
      const [row] = await orUnavailable(
        database.read<Pick<Schema["waiting_acts"], "ask">>(findWaitingSql, [namespace_id, actor, scope, id]),
      );
      return row?.ask;
    },
    close: () => unknown.close(),
  };
}

/** The alternatives of choices. One that allows the act begins it, and one that a person's approval would turn lets it wait. */
function beginnings(
  key: RowKey,
  { tool, context, fingerprint, expiresAt }: NewAct,
  nonce: string,
  choices: readonly DecisionChoice[],
): readonly Alternative[] {
  return alternativesOf(choices).map((alternative, place) => {
    const { uses = [], permit, grants = [], requestHash, event } = choices[place] as DecisionChoice;
    if (alternative.isRefusal === true && requestHash !== undefined)
      return { ...alternative, waiting: { ...key, ask: columnText(requestHash), asked_at: event.at } };
    if (alternative.isRefusal === true) return alternative;
    const content: ActContent = { tool, context, taken: { grants, uses, ...(permit && { permit }) } };
    const begun: NewActRow = {
      ...key,
      nonce,
      fingerprint,
      expires_at: expiresAt,
      content: JSON.stringify(content),
    };
    return { ...alternative, begun };
  });
}

function endingOf(key: RowKey, { claim, taken }: StoredAct, end: ActEnd, isFreed: boolean): ActEnding {
  const { status, output, error, completedAt, isLate } = end;
  const text = JSON.stringify({ output, error });
  const { uses, permit } = taken;
  const returned = {
    uses: uses.map(grantUse),
    ...(permit && { permit: { permit: permitUse(permit), escalationId: permit.id } }),
  };
  return {
    ...key,
    nonce: claim,
    status,
    outcome: Buffer.byteLength(text) <= maxOutcomeBytes ? text : null,
    completed_at: completedAt,
    is_late: isLate ? 1 : 0,
    ...(isFreed && { returned }),
  };
}

function storedOf(row: ActRow): StoredAct {
  const { nonce: claim, fingerprint, expires_at: expiresAt, content, status, outcome, completed_at, is_late } = row;
  const act = { ...(JSON.parse(content) as ActContent), claim, fingerprint, expiresAt };
  if (status === null || completed_at === null) return act;
  if (outcome === null) return { ...act, end: "lost" };
  const said = JSON.parse(outcome) as Pick<ActEnd, "output" | "error">;
  return { ...act, end: { status, ...said, completedAt: completed_at, isLate: is_late === 1 } };
}

/** Whether its key was given back. The kernel does not store that nothing happened when it was said too late. */
function isFree({ end }: StoredAct): boolean {
  return end !== undefined && end !== "lost" && end.error?.nothingHappened === true;
}

function rowKey({ namespaceId, actor, scope, id }: ActKey): RowKey {
  return {
    namespace_id: columnText(namespaceId),
    actor: columnText(principalKey(actor)),
    scope: columnText(scope),
    id: columnText(id),
  };
}

function nameOf({ namespace_id, actor, scope, id }: RowKey): string {
  return JSON.stringify([namespace_id, actor, scope, id]);
}

function claimKey({ namespace_id, actor, scope, id }: RowKey): KeyColumns {
  return { namespace_id, actor, kind: "act", scope, id };
}

async function orUnavailable<T>(answer: Promise<T>): Promise<T> {
  try {
    return await answer;
  } catch (error) {
    if (error instanceof OutdatedReadsError) throw error;
    throw unavailable(error);
  }
}

function unavailable(cause: unknown): ServiceHttpError {
  return new ServiceHttpError(503, "replay_unavailable", "The store of acts did not answer.", { cause });
}
