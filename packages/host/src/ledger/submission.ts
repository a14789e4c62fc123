import type { Insertable, Selectable } from "kysely";
import { columnText } from "../base/index.ts";
import type { Schema } from "../storage/index.ts";
import type { AuditEntry, TenantHead } from "./chain.ts";

/** What is known about an effect. */
export type ReplayRow = Selectable<Schema["replay"]>;

/** The columns that name an effect. */
export type KeyColumns = Pick<ReplayRow, "namespace_id" | "actor" | "kind" | "scope" | "id">;

/** An effect's id that is to be taken. */
export interface Claim {
  key: KeyColumns;
  fingerprint: string;
  /** Tells this claim from every other of the same key. INVARIANT: what became of a claim is written to its row only. */
  nonce: string;
}

/** What became of a claim. */
export interface Ending {
  key: KeyColumns;
  nonce: string;
  outcome:
    | { kind: "finished"; result: string; isRead: boolean }
    /** It may have happened, and nobody knows its result. */
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

/** One of the ways in which a call may go on, with what is kept when it does. */
export interface Alternative {
  /** All of them have to be left, and all are counted. */
  uses?: readonly Use[];
  entries: readonly AuditEntry[];
  /** Nothing happens because of it: a claim that came with it is given back. */
  isRefusal?: boolean;
}

/** How many turns of an actor that have not ended there may be, and how many bytes may be kept of them. */
export interface OpenTurnLimits {
  turns: number;
  bytes: number;
}

/** A turn that is to begin, run by this host. Its key has to be free, and its actor to have room for it. */
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

/** How far a turn has come. */
type TurnProgressColumns = Pick<
  Schema["turns"],
  "steps" | "tool_calls" | "ran_ms" | "updated_at" | "entries" | "events"
>;

/** That a turn runs no further here: it waits, or it has ended. */
export type TurnStopColumns = Pick<Schema["turns"], "status" | "waiting" | "result" | "completed_at"> & {
  is_refused: 0 | 1;
  /** How much is kept of the turn by then. */
  bytes: number;
};

/** What all writes of a run share. INVARIANT: behind one that was not kept, or of which nobody knows, none is kept. */
export interface RunLine {
  failed?: { write: TurnWrite; error: unknown };
}

/** What a run of a turn keeps. INVARIANT: nothing is written of it when the turn is another run's, or nobody's. */
export interface TurnWrite {
  id: string;
  run: number;
  line: RunLine;
  entries: readonly Schema["turn_entries"][];
  progress: TurnProgressColumns;
  stop?: TurnStopColumns | undefined;
  /** What a turn waits for that stops here. None are kept of one that was cancelled meanwhile: it does not wait. */
  questions?: readonly Schema["turn_questions"][] | undefined;
}

/** What has to be durable together: all of it is, or nothing. */
export interface Submission {
  /** When its key is taken already, nothing else of the submission is written. */
  claim?: Claim;
  /** When it cannot begin, nothing else of the submission is written. */
  begins?: NewTurn;
  /** When the turn is lost to another run, nothing else of the submission is written. Entries are not kept with a refusal. */
  turn?: TurnWrite;
  /** The first whose uses are left is written; the others are not. */
  alternatives?: readonly Alternative[];
  ending?: Ending;
}

/** What became of a submission. */
export type Outcome =
  /** `alternative` is -1 when none of them could be taken. */
  | { kind: "kept"; alternative: number }
  /** Undefined when the row by which it was taken is gone again. */
  | { kind: "taken"; by: ReplayRow | undefined }
  /** The turn could not begin: its key is taken, or its actor has no room for it. */
  | { kind: "known" }
  /** The turn is another run's by now, or nobody's. */
  | { kind: "lost" };

/** A run that has to be the one that may write. */
export type TurnRun = Pick<TurnWrite, "id" | "run">;

/** What a batch has to know before it can be decided. */
export interface Wanted {
  claims: readonly Claim[];
  begins: readonly NewTurn[];
  runs: readonly TurnRun[];
  uses: readonly Omit<Use, "maxUses">[];
  tenants: readonly string[];
  /** The strand of the tenants' chains that the batch goes on with. */
  strand: number;
}

/** What the database knows, within the transaction of the batch. */
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

/** A message about what is kept, for a webhook. */
export type Notice = Omit<Insertable<Schema["outbox"]>, "attempts">;

/** The messages about rows of the trail. What they tell of and they are kept together. */
export type NoticesOf = (rows: readonly AuditEntry[]) => Notice[];

/** What a batch writes. */
export interface Writes {
  /** Claims whose submissions were refused: their keys stay free. */
  givenBack: Claim[];
  uses: { namespaceId: string; grantId: string; used: number }[];
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
  commit(writes: Writes): Promise<void>;
}

/** A batch that was decided without a look at the database. */
export interface Guess {
  /** Those that are kept; each key has to be free, as those of `writes.givenBack` have to be. */
  claims: readonly Claim[];
  /** Each has to be able to begin. */
  begins: readonly NewTurn[];
  /** Each turn of them has to be the run's. */
  writes: Omit<Writes, "uses">;
  /** The heads that its rows go on from. */
  before: ReadonlyMap<string, TenantHead>;
}

/** The tables of the ledger on one kind of database. */
export interface LedgerTables {
  /** Writes a batch in one go if what it was decided upon is so. False when it is not: nothing was written then. */
  commitGuess(guess: Guess): Promise<boolean>;
  transact<T>(work: (transaction: LedgerTransaction) => Promise<T>): Promise<T>;
}

/** A use of a bounded grant. */
export function grantUse({ namespaceId, grantId, maxUses }: Use): Use {
  return { namespaceId: columnText(namespaceId), grantId: columnText(grantId), maxUses };
}

/** What the names of permits begin with, where uses are counted. */
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
