import type { Insertable, Selectable } from "kysely";
import { columnText } from "../shared/index.ts";
import type { ReadBasis, Schema } from "../storage/index.ts";
import type { AuditEntry, TenantHead } from "./chain.ts";

/** What is known about an effect. */
export type ReplayRow = Selectable<Schema["replay"]>;

/** The columns that name an effect. */
export type KeyColumns = Pick<ReplayRow, "namespace_id" | "actor" | "kind" | "scope" | "id">;

/** A claim of an effect's id. */
export interface Claim {
  key: KeyColumns;
  fingerprint: string;
  /** Distinguishes this claim from every other of the same key. INVARIANT: the outcome of a claim is written only to its own row. */
  nonce: string;
}

/** The outcome of a claim. */
export interface Ending {
  key: KeyColumns;
  nonce: string;
  outcome:
    | { kind: "finished"; result: string; isRead: boolean }
    /** It may have happened, and its result is unknown. */
    | { kind: "interrupted" }
    /** Nothing happened: the key is free. */
    | { kind: "released" };
}

/** A use of a bounded grant, or of a permit. */
export interface Use {
  namespaceId: string;
  grantId: string;
  maxUses: number;
}

/** The beginning of an act. It replaces an earlier one of the same key, which has ended. */
export type NewActRow = Omit<Selectable<Schema["acts"]>, "status" | "outcome" | "completed_at" | "is_late">;

/** An act that waits for a person. It replaces what waited under the same key before. */
export type WaitingActRow = Schema["waiting_acts"];

/** The outcome of an act. */
export interface ActEnding extends Pick<NewActRow, "namespace_id" | "actor" | "scope" | "id" | "nonce"> {
  status: "succeeded" | "failed";
  outcome: string | null;
  completed_at: string;
  is_late: 0 | 1;
  /** What comes back because nothing happened. A permit does only while it would still count at `completed_at`. */
  returned?: { uses: readonly Use[]; permit?: { permit: Use; escalationId: string } | undefined };
}

/** One of the ways in which a call may continue, with what is written then. */
export interface Alternative {
  /** All of them have to be available, and all are counted. */
  uses?: readonly Use[];
  /** All of them have to be available, and none is counted. */
  left?: readonly Use[];
  entries: readonly AuditEntry[];
  begun?: NewActRow;
  waiting?: WaitingActRow;
  ended?: ActEnding;
  /** Nothing happens because of it, so a claim in the same submission is released. */
  isRefusal?: boolean;
}

/** How many open turns an actor may have, and how many bytes may be stored of them. */
export interface OpenTurnLimits {
  turns: number;
  bytes: number;
}

/** A turn that this host is to begin. Its key has to be free, and its actor needs room for it. */
export type NewTurn = Pick<
  Schema["turns"],
  | "id"
  | "namespace_id"
  | "actor"
  | "execution_id"
  | "fingerprint"
  | "is_async"
  | "heading"
  | "content"
  | "started_at"
  | "updated_at"
> & { bytes: number; most: OpenTurnLimits };

/** The progress of a turn. */
type TurnProgressColumns = Pick<
  Schema["turns"],
  "steps" | "tool_calls" | "ran_ms" | "updated_at" | "entries" | "events"
>;

/** The columns of a turn that stops here: it waits, or it has ended. */
export type TurnStopColumns = Pick<Schema["turns"], "status" | "waiting" | "result" | "completed_at"> & {
  is_refused: 0 | 1;
  /** How many bytes are stored of the turn by then. */
  bytes: number;
};

/** What all writes of a run share. INVARIANT: after a write that failed, or whose outcome is unknown, none is made. */
export interface RunLine {
  failed?: { write: TurnWrite; error: unknown };
}

/** What a run of a turn writes. INVARIANT: nothing of it is written when the turn belongs to another run, or to none. */
export interface TurnWrite {
  id: string;
  run: number;
  line: RunLine;
  entries: readonly Schema["turn_entries"][];
  progress: TurnProgressColumns;
  stop?: TurnStopColumns | undefined;
  /** The escalations that a stopping turn waits for. None are written when it was cancelled meanwhile, because it does not wait. */
  waits?: readonly Schema["turn_questions"][] | undefined;
  /** For an asynchronous turn that ends: whose open escalations are closed, unless another turn waits for them. */
  asker?: TurnAsker | undefined;
}

/** By what the escalations of a turn are found, and when it ended. */
export type TurnAsker = Pick<Schema["turns"], "namespace_id" | "execution_id" | "actor"> & { ended_at: string };

/** What has to be durable together: all of it is, or nothing. */
export interface Submission {
  /** What it was decided on, if that is not confirmed. When it is outdated, nothing of the submission is written. */
  basis?: ReadBasis | undefined;
  /** When its key is taken already, nothing else of the submission is written. */
  claim?: Claim;
  /** When it cannot begin, nothing else of the submission is written. */
  begins?: NewTurn;
  /** When the turn is lost to another run, nothing else of the submission is written. A refusal is written without entries. */
  turn?: TurnWrite;
  /** The first one whose uses are available is written; the others are not. */
  alternatives?: readonly Alternative[];
  ending?: Ending;
}

/** The outcome of a submission. */
export type Outcome =
  /**
   * `alternative` is -1 when none of them could be taken. With `isFenced` everything was written except for the ending, because another
   * host has ended the claim.
   */
  | { kind: "written"; alternative: number; isFenced?: true }
  /** Undefined when the row by which it was taken is gone again. */
  | { kind: "taken"; by: ReplayRow | undefined }
  /** The turn could not begin: its key is taken, or its actor has no room for it. */
  | { kind: "known" }
  /** The turn belongs to another run by now, or to none. */
  | { kind: "lost" }
  /** What it was decided on is outdated. */
  | { kind: "outdated" };

/** A run that still has to own its turn. */
export type TurnRun = Pick<TurnWrite, "id" | "run">;

/** What a batch has to know before it can be decided. */
export interface Wanted {
  claims: readonly Claim[];
  begins: readonly NewTurn[];
  runs: readonly TurnRun[];
  uses: readonly Omit<Use, "maxUses">[];
  tenants: readonly string[];
  /** The strand of the tenants' chains that the batch continues. */
  strand: number;
}

/** What the batch read from the database, within its transaction. */
export interface Found {
  /** The rows by which claims could not be made, by the nonces of the claims. */
  taken: ReadonlyMap<string, ReplayRow | undefined>;
  /** The ids of turns that could not begin. */
  known: ReadonlySet<string>;
  /** Runs that may not write any more, by `nameOfRun`. */
  lost: ReadonlySet<string>;
  /** Uses by `nameOfUse`; none for a grant that was not used yet. */
  used: ReadonlyMap<string, number>;
  heads: ReadonlyMap<string, TenantHead>;
}

/** A message to a webhook about what is written. */
export type Notice = Omit<Insertable<Schema["outbox"]>, "attempts">;

/** The messages about rows of the audit log. Both are written in one transaction. */
export type NoticesOf = (rows: readonly AuditEntry[]) => Notice[];

/** How often a use is taken with a batch, and how many of them the batch takes: none, or less than none when it gives some back. */
export interface CountedUse extends Omit<Use, "maxUses"> {
  used: number;
  taken: number;
}

/** What a batch writes of acts. */
export interface ActWrites {
  begunActs: NewActRow[];
  waitingActs: WaitingActRow[];
  endedActs: ActEnding[];
}

/** What a batch writes. */
export interface Writes extends ActWrites {
  /** Claims whose submissions were refused. Their keys stay free. */
  givenBack: Claim[];
  /** Each use that the batch was decided on, in the order in which they are locked. */
  uses: CountedUse[];
  rows: Schema["audit"][];
  heads: TenantHead[];
  endings: Ending[];
  /** Each turn once. */
  turns: TurnWrite[];
  notices: Notice[];
}

/** One transaction of a batch. */
interface LedgerTransaction {
  /** Makes the claims that can be made, and reads the rest. */
  begin(wanted: Wanted): Promise<Found>;
  /** Returns the nonces of claims that are not ended by it, because another host has ended them. */
  commit(writes: Writes): Promise<ReadonlySet<string>>;
}

/** A batch that was decided before the database was read. */
export interface OptimisticBatch {
  /** The claims that are written. Their keys have to be free, and so do those of `writes.givenBack`. */
  claims: readonly Claim[];
  /** Each has to be able to begin. */
  begins: readonly NewTurn[];
  /** Each turn has to belong to its run. Each use has to be taken as often, without this batch, as it was decided on. */
  writes: Writes;
  /** The heads before its rows. */
  before: ReadonlyMap<string, TenantHead>;
  /** The revision has to be this one, if any is given. */
  revision: number | undefined;
}

/** The tables of the ledger on one kind of database. */
export interface LedgerTables {
  /** Writes a batch at once if its assumptions hold, as `commit` does. Undefined when they do not; then nothing was written. */
  commitOptimistic(optimistic: OptimisticBatch): Promise<ReadonlySet<string> | undefined>;
  transact<T>(work: (transaction: LedgerTransaction) => Promise<T>): Promise<T>;
}

/** The nonces of claims that were to be ended and are not their host's any more. */
export function fencedOf(endings: readonly Ending[], own: readonly string[]): ReadonlySet<string> {
  const ended = endings.filter(({ outcome }) => outcome.kind !== "released").map(({ nonce }) => nonce);
  return new Set(ended.filter((nonce) => !own.includes(nonce)));
}

/** A use of a bounded grant. */
export function grantUse({ namespaceId, grantId, maxUses }: Use): Use {
  return { namespaceId: columnText(namespaceId), grantId: columnText(grantId), maxUses };
}

/** The prefix that tells a permit's id from a grant's, where uses are counted. */
export const permitPrefix = "permit\n";

/** The one use of a permit. */
export function permitUse({ namespaceId, id }: { namespaceId: string; id: string }): Use {
  return { namespaceId: columnText(namespaceId), grantId: columnText(`${permitPrefix}${id}`), maxUses: 1 };
}

export function nameOfUse({ namespaceId, grantId }: Omit<Use, "maxUses">): string {
  return JSON.stringify([namespaceId, grantId]);
}

export function nameOfRun({ id, run }: TurnRun): string {
  return `${id} ${run}`;
}
