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
import type { AdmissionRecord, CallOptions, Question } from "../kernel/index.ts";
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
  /** Whether the turn goes on without its caller, and after the end of its process. */
  isAsync: boolean;
  runtime: { id: string; version: string };
  limits: TurnLimits;
  startedAt: string;
}

/** The error of a run of a turn that has to stop here without an end: it goes on later, or elsewhere. */
export class TurnPause extends Error {
  override readonly name = "TurnPause";
}

/** One thing that is kept of a turn. Their order is the order in which they happened. */
export type JournalEntry =
  | { kind: "event"; event: TurnEvent }
  /** The turn is being admitted: a use of the grant that carries it is taken. */
  | { kind: "admitting" }
  /** What the kernel admitted the turn with; the last one counts. */
  | { kind: "admitted"; admission: AdmissionRecord }
  /** What a named step came to. A driver's decisions are steps. */
  | { kind: "step"; name: string; value: JsonValue }
  /** A call that is about to be made. One that is `repeatable` may be made again if nothing is known of its result. */
  | { kind: "call"; call: ToolCall; step: number; repeatable: boolean }
  /** `ask` counts those who asked for a call of the same id; 1 when absent. */
  | { kind: "result"; callId: string; result: ToolResult; ask?: number }
  /** The call was not made: a person is asked about it first. It counts once, and is made again when the turn goes on. */
  | { kind: "asked"; callId: string }
  /**
   * The turn waits from here on, until any of the questions that it waits for is answered. `approval`: the call itself waits
   * for a yes. A yes leaves no entry, because the kernel decides about the call again; a no is the call's `result`.
   */
  | {
      kind: "waiting";
      callId: string;
      escalation: Escalation;
      question?: Question | undefined;
      approval?: { tool: string } | undefined;
    }
  /** The answer to a call that asks by itself: its result. The turn is admitted anew with it. */
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

/** What one run of a turn reads and writes. Nobody else writes to the turn meanwhile. */
export interface TurnPen {
  readonly turn: TurnToBegin;
  /** What was kept before this run. Nothing when the turn begins. */
  readonly kept: readonly JournalEntry[];
  readonly progress: TurnProgress;
  /**
   * Fires when this run has to stop: with a `TurnPause` when the turn goes on later, with anything else when somebody
   * cancelled it.
   */
  readonly stop: AbortSignal;
  /**
   * Fires, with a `TurnPause`, when an asynchronous run should stop before its next call or step: what is on its way still
   * ends, and is kept.
   */
  readonly pauses?: AbortSignal | undefined;
  /**
   * Whether a write may be asked for while another is on its way: what is asked for, by claims and by the kernel's ports too, is
   * kept in that order, and nothing of the run is kept behind what is not. Absent: one write comes after the other.
   */
  readonly isOrdered?: boolean | undefined;
  /**
   * Keeps entries in their order, all or none, and resolves when they are durable. Rejects when they are not, or when nobody
   * knows: then nothing is written any more, and nothing may happen because of them. A `TurnPause` says that the turn is
   * another run's; an end that is rejected with anything else is one that the journal goes on trying to keep.
   * With the entries it keeps what is left of `claims`.
   */
  write(entries: readonly JournalEntry[], progress: TurnProgress, claims?: readonly unknown[]): Promise<void>;
  /**
   * For a journal that keeps decisions in the same place: a claim to call the kernel with. The entry is kept together with
   * the first thing that lets something happen under the claim; whatever the call keeps afterwards waits for the `write`
   * that gets the claim, and so does the entry if nothing was kept before.
   */
  claimFor?(entry: JournalEntry | undefined, progress: TurnProgress): unknown;
  /** Told that this run stops here without an end and writes nothing more: whoever looks for turns to go on with finds it. */
  close?(reason: TurnPause): void;
}

/** What is known under the id of a turn. `isSame`: it was asked for by the same request. */
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
 * Keeps everything that turns do, so that they outlive their connection and their process. A turn that was refused before
 * it was admitted leaves its id free: it is known until it is begun again.
 */
export interface TurnJournal {
  /** Takes the id of a turn, durably; or says what is known under it. Throw on an outage: nothing runs. */
  begin(
    turn: TurnToBegin,
    call: CallOptions,
  ): Promise<{ kind: "begun"; pen: TurnPen } | ({ kind: "known" } & KnownTurn)>;
  /** The state of a turn; undefined when there is none. */
  find(key: TurnKey): Promise<TurnState | undefined>;
  /** The newest first. */
  list(owner: Pick<TurnKey, "namespaceId" | "actor">, filter: TurnFilter): Promise<TurnList>;
  /** The events that are kept with a greater sequence than `after`, in their order. */
  events(key: TurnKey, after: number): Promise<readonly TurnEvent[]>;
  /**
   * The same, then those that come, as they are kept, whichever process runs the turn. Ends when the turn has ended, at once
   * when there is none, and rejects with the reason of the signal.
   */
  follow(key: TurnKey, after: number, signal: AbortSignal): AsyncIterable<TurnEvent>;
  /** Asks for the end of a turn: its run stops before its next step. The state as it is then; undefined when there is none. */
  cancel(key: TurnKey): Promise<TurnState | undefined>;
}
