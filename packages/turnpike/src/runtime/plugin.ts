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

/** Everything that a plugin gets to know of its turn. It has no grant, authority or setting, and is deeply frozen. */
export interface RuntimeTurn extends Readonly<TurnRequest> {
  readonly tools: readonly ToolDescriptor[];
  /**
   * The names of the tools that a resumed turn had before and whose provider has not answered yet. A call of one waits for the
   * provider, or fails with `tool_catalog_unavailable`. Absent when there are none.
   */
  readonly missingTools?: readonly string[];
  readonly reach: ReachResult;
  readonly limits: TurnLimits;
}

/** The only effects a plugin gets. They end with the turn. */
export interface RuntimeHost {
  readonly limits: TurnLimits;
  /**
   * Calls a tool of the turn's catalog. A refusal is a `denied` result. Rejects only for a value that is no tool call, when the
   * turn is over, and after a thousand calls that the turn's own limits refused. `step` counts from 0; calls of step `maxSteps`
   * and later are refused. If `waits` is true, a call that needs a person's approval has no result in this run: the run ends
   * when no other operation runs, and the next run makes the call or returns the denial.
   */
  invokeTool(call: ToolCall, options?: { step?: number }): Promise<ToolResult>;
  /**
   * Checks, before each step but the first, whether the turn may continue. Rejects when the turn is over. A turn whose access
   * was revoked ends here, before the runtime does anything else.
   */
  beginStep(): Promise<void>;
  /**
   * Does some work once and stores its result, which a resumed turn gets instead of doing the work again. A turn uses each name
   * once. Without a journal the work is done and nothing is stored. Rejects when the work rejects, and then stores nothing. Make
   * calls outside of steps: a run that waits for a person ends only after its steps have ended.
   *
   * The promise resolves when the result is durable. With `isInside` it may resolve earlier, and everything that follows is then
   * stored after the result, or does not happen. Use it only if the plugin acts on the result through this host
   * and its outcome alone.
   */
  step<T extends JsonValue>(name: string, work: () => T | Promise<T>, options?: { isInside?: boolean }): Promise<T>;
  /**
   * Whether a call of `service.escalate`, or a call that needs a person's approval, waits for the answer. If it is false, an
   * escalation is an outcome that ends the turn, and a call that needs approval is denied.
   */
  readonly waits: boolean;
  /** Adds a `runtime.event` to the turn. Throws when `data` is no JSON, and after 20,000 events. */
  emit(event: { type: string; data: JsonValue }): void;
}

/** How a plugin ends a turn. The requester is always the turn's actor, whatever a requested authority says. */
export type RuntimeOutcome =
  | { type: "complete"; output: JsonValue; metadata?: JsonObject }
  | { type: "fail"; error: ErrorObject; metadata?: JsonObject }
  | { type: "escalate"; reason: string; requestedAuthority?: AuthorityRequestInput | undefined; metadata?: JsonObject };

/** The agent's logic inside a turn. One instance runs any number of turns at once. */
export interface RuntimePlugin {
  manifest: { id: string; version: string };
  /**
   * Whether this plugin can resume a turn that a plugin of this id and the given version began. It is run again, has to ask for
   * the same steps and calls in the same order, and gets their results. Without it, its turns end with their process.
   */
  resumes?(version: string): boolean;
  /**
   * Whether it acts only through its host and its outcome. It may then get results before they are durable; its next calls and
   * its outcome are stored after them, or do not happen.
   */
  isPure?: boolean;
  /** Runs one turn. When `signal` fires the turn is over: a later outcome is ignored, and later calls are refused. */
  run(turn: RuntimeTurn, host: RuntimeHost, signal: AbortSignal): Promise<RuntimeOutcome>;
}

/** Thrown by a runtime whose driver failed: the turn ends `driver_failed`, and `onTurnError` gets the cause. */
export class DriverError extends Error {
  override readonly name = "DriverError";

  constructor(cause: unknown) {
    super("The driver failed.", { cause });
  }
}
