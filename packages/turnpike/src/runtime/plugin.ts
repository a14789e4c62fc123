import type {
  AuthorityRequestInput,
  ErrorObject,
  JsonObject,
  JsonValue,
  ReachResult,
  ToolCall,
  ToolDescriptor,
  ToolResult,
  TurnOptions,
  TurnRequest,
} from "../contracts/index.ts";

/** The limits of one turn, with nothing left open. */
export type TurnLimits = { [Limit in keyof TurnOptions]-?: NonNullable<TurnOptions[Limit]> };

/** All that a plugin learns about its turn: never a grant, an authority or a setting. Frozen to its last leaf. */
export interface RuntimeTurn extends Readonly<TurnRequest> {
  readonly tools: readonly ToolDescriptor[];
  /**
   * Of a turn that goes on: the names of tools that it had before, and whose provider has not answered yet. A call of one waits
   * for the provider, or fails with `tool_catalog_unavailable`. Absent when there are none.
   */
  readonly missingTools?: readonly string[];
  readonly reach: ReachResult;
  readonly limits: TurnLimits;
}

/** The only effects a plugin gets. They end with the turn. */
export interface RuntimeHost {
  readonly limits: TurnLimits;
  /**
   * Calls a tool of the turn's catalog. A refusal is a `denied` result; rejects only for something that is no tool call,
   * when the turn is over, and after a thousand calls that the turn's own limits refused. `step` counts from 0: calls of
   * step `maxSteps` and later are refused. Where `waits` is true, a call that needs a person's yes has no result in this
   * run: the run ends once nothing else is under way, and the next one makes the call, or gives the denial.
   */
  invokeTool(call: ToolCall, options?: { step?: number }): Promise<ToolResult>;
  /**
   * Asks, before each step but the first, whether the turn may go on. Rejects when it is over; a turn whose access was
   * revoked ends here, before anybody thinks any further.
   */
  beginStep(): Promise<void>;
  /**
   * Does something once: what it came to is kept, and given again when the turn goes on after its process has ended. Names
   * are used once a turn. Without a journal it is simply done. Rejects like what it does, which is then not kept. Calls are
   * made outside of steps: a run that waits for a person ends only when its steps have ended.
   *
   * What it came to is durable when it is given. With `isInside`, for a plugin that does nothing because of it but by this host
   * and by its outcome, it may be given before: whatever follows is then kept behind it, or does not happen.
   */
  step<T extends JsonValue>(name: string, work: () => T | Promise<T>, options?: { isInside?: boolean }): Promise<T>;
  /**
   * Whether a call of `service.escalate`, or one that needs a person's yes, waits for its answer. Otherwise a question ends
   * the turn, as the runtime's outcome, and a call that needs a yes is denied.
   */
  readonly waits: boolean;
  /** Adds a `runtime.event` to the turn. Throws when `data` is no JSON, and after 20,000 events. */
  emit(event: { type: string; data: JsonValue }): void;
}

/** How a plugin ends a turn. Of a requested authority only what is wanted counts; whoever it names as asking is not believed. */
export type RuntimeOutcome =
  | { type: "complete"; output: JsonValue; metadata?: JsonObject }
  | { type: "fail"; error: ErrorObject; metadata?: JsonObject }
  | { type: "escalate"; reason: string; requestedAuthority?: AuthorityRequestInput | undefined; metadata?: JsonObject };

/** What thinks inside a turn. One instance runs any number of turns at once. */
export interface RuntimePlugin {
  manifest: { id: string; version: string };
  /**
   * Whether it goes on with a turn that a runtime of this id and that version began: run again, it asks for the same steps
   * and calls in the same order, and is given what they came to. Absent: its turns end with their process.
   */
  resumes?(version: string): boolean;
  /**
   * It asks nobody, and does nothing but by its host and by its outcome. It may be given what is not durable yet: a call that it
   * makes because of that, and its outcome, are kept behind it, or do not happen.
   */
  onlyThinks?: boolean;
  /** Runs one turn. When `signal` fires the turn is over: what is returned later is dropped, what is called later refused. */
  run(turn: RuntimeTurn, host: RuntimeHost, signal: AbortSignal): Promise<RuntimeOutcome>;
}

/** Thrown by a runtime whose driver failed: the turn ends `driver_failed`, and `onTurnError` gets the cause. */
export class DriverError extends Error {
  override readonly name = "DriverError";

  constructor(cause: unknown) {
    super("The driver failed.", { cause });
  }
}
