import type {
  AccessContext,
  Escalation,
  JsonValue,
  PrincipalRef,
  ToolCall,
  ToolResult,
  TurnEvent,
  TurnList,
  TurnRequest,
  TurnResult,
  TurnState,
  TurnStatus,
} from "../contracts/index.ts";
import type { AdmissionRecord, CallOptions, EscalationRef, WriteScope } from "../kernel/index.ts";
import type { TurnLimits } from "./plugin.ts";

/** Names a turn: an execution id belongs to the actor who chose it. */
export interface TurnKey {
  namespaceId: string;
  actor: PrincipalRef;
  executionId: string;
}

/** A turn that is about to begin. */
export interface TurnToBegin {
  request: TurnRequest;
  /** The context of the turn; its `executionId` is the turn's. */
  context: AccessContext;
  /** Whether the turn continues without its caller, and is resumed when its process has ended. */
  isAsync: boolean;
  runtime: { id: string; version: string };
  limits: TurnLimits;
  startedAt: string;
}

/** The error of a run that has to stop before its turn has ended. Another run resumes the turn, perhaps in another process. */
export class TurnPause extends Error {
  override readonly name = "TurnPause";
}

/** One stored entry of a turn. Entries are in the order in which they happened. */
export type JournalEntry =
  | { kind: "event"; event: TurnEvent }
  /** The turn is being admitted: a use of the grant that carries it is taken. */
  | { kind: "admitting" }
  /** What the kernel admitted the turn with; the last one counts. */
  | { kind: "admitted"; admission: AdmissionRecord }
  /** The result of a named step. A driver's decisions are steps. */
  | { kind: "step"; name: string; value: JsonValue }
  /** A call that is about to be made. One that is `repeatable` may be made again if nothing is known of its result. */
  | { kind: "call"; call: ToolCall; step: number; repeatable: boolean }
  /** `ask` says which call with this id it is, counted from 1; 1 when absent. */
  | { kind: "result"; callId: string; result: ToolResult; ask?: number }
  /** The call was not made, because a person is asked about it first. It counts once, and is made when the turn is resumed. */
  | { kind: "asked"; callId: string }
  /**
   * The turn waits from here on, until any of its open escalations is answered. `approval`: the call itself waits for
   * approval. An approval leaves no entry, because the kernel decides about the call again; a denial is the call's `result`.
   */
  | {
      kind: "waiting";
      callId: string;
      escalation: Escalation;
      /** Names the stored escalation, which gets the answer. Stored entries have it under this name. */
      question?: EscalationRef | undefined;
      approval?: { tool: string } | undefined;
    }
  /** The answer to a call of `service.escalate`, as its result. The turn is admitted anew after it. */
  | { kind: "answered"; callId: string; result: ToolResult }
  | { kind: "ended"; result: Omit<TurnResult, "events"> };

/** How far a turn has come, for its state. */
export interface TurnProgress {
  at: string;
  steps: number;
  toolCalls: number;
  /** How long the turn has really run, over all its runs. */
  ranMs: number;
}

/**
 * Reads and writes a turn for one of its runs. A journal numbers the runs of a turn, and refuses every write that is not of the
 * latest run.
 */
export interface RunWriter {
  readonly turn: TurnToBegin;
  /** The entries of earlier runs. Empty when the turn begins. */
  readonly stored: readonly JournalEntry[];
  /** The journal has lost a part of what earlier runs did: the turn is not gone on with, and ends as interrupted. */
  readonly isIncomplete?: boolean | undefined;
  readonly progress: TurnProgress;
  /**
   * Fires when this run has to stop: with a `TurnPause` when the turn is resumed later, with any other reason when it was
   * cancelled.
   */
  readonly stop: AbortSignal;
  /**
   * Fires, with a `TurnPause`, when an asynchronous run should stop before its next call or step. Calls that are being made
   * still end, and are stored.
   */
  readonly pauses?: AbortSignal | undefined;
  /**
   * Whether `write` may be called before the last write has ended. Writes, also those in scopes, are then stored in the order of
   * the calls, and after one that fails nothing more of the run is stored. If absent, each write waits for the one before.
   */
  readonly isOrdered?: boolean | undefined;
  /**
   * Stores entries in their order, all or none, and resolves when they are durable. Rejects when they are not, or when that is
   * unknown: nothing more may then be written, and nothing may happen because of these entries. It rejects with a `TurnPause`
   * when another run has the turn. When it rejects an end with another error, the journal retries to store the end.
   * It also writes what the closed scopes have not written yet.
   */
  write(entries: readonly JournalEntry[], progress: TurnProgress, closed?: readonly WriteScope[]): Promise<void>;
  /**
   * Opens a scope to call the kernel with, in a journal that also stores decisions. The entry is written together with the first
   * decision that allows something. Everything that the call records later waits for the `write` that closes the scope, and so
   * does the entry if nothing was allowed.
   */
  openScope?(entry: JournalEntry | undefined, progress: TurnProgress): WriteScope | undefined;
  /** Called when this run stops without an end and writes nothing more, so that another run can take the turn. */
  close?(reason: TurnPause): void;
}

/** A turn whose id is taken. `isSame` says whether it was begun by the same request. */
export interface KnownTurn {
  state: TurnState;
  isAsync: boolean;
  isSame: boolean;
}

/** The id of a turn that was to begin is taken. */
export class KnownTurnError extends Error {
  override readonly name = "KnownTurnError";
  readonly known: KnownTurn;

  constructor(known: KnownTurn) {
    super("The id of this turn is taken.");
    this.known = known;
  }
}

/** Which turns of an actor to list. */
export interface TurnFilter {
  /** All of them when absent. */
  statuses?: readonly TurnStatus[] | undefined;
  /** 1-200. */
  limit: number;
  /** The `next` of the page before. */
  before?: string | undefined;
}

/**
 * Stores everything that turns do, so that they outlive their connection and their process. The id of a turn that was refused
 * before it was admitted may be used again; until then, the journal shows the refused turn.
 */
export interface TurnJournal {
  /** Takes the id of a turn, durably, or returns the turn that has it. Throw on an outage, so that nothing runs. */
  begin(
    turn: TurnToBegin,
    call: CallOptions,
  ): Promise<{ kind: "begun"; writer: RunWriter } | ({ kind: "known" } & KnownTurn)>;
  /** The state of a turn; undefined when there is none. */
  find(key: TurnKey): Promise<TurnState | undefined>;
  /** The newest first. */
  list(owner: Pick<TurnKey, "namespaceId" | "actor">, filter: TurnFilter): Promise<TurnList>;
  /** The stored events with a greater sequence than `after`, in their order. */
  events(key: TurnKey, after: number): Promise<readonly TurnEvent[]>;
  /**
   * The same, then later events as they are stored, whichever process runs the turn. Ends when the turn has ended, at once
   * when there is none, and rejects with the reason of the signal.
   */
  follow(key: TurnKey, after: number, signal: AbortSignal): AsyncIterable<TurnEvent>;
  /** Asks for the end of a turn, whose run stops before its next step. Returns the state at that time; undefined when there is none. */
  cancel(key: TurnKey): Promise<TurnState | undefined>;
}
