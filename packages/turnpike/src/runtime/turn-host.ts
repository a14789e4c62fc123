import {
  JsonObjectSchema,
  ToolCallSchema,
  type ErrorCode,
  type ToolCall,
  type ToolResult,
} from "../contracts/index.ts";
import { accept, check, orAbort } from "../internal/index.ts";
import type { TurnScope } from "../kernel/index.ts";
import type { RuntimeHost, TurnLimits } from "./plugin.ts";
import type { TurnEvents } from "./turn-events.ts";

/** A turn is bounded in what it leaves behind, too. */
const maxRefusals = 1_000;
const maxEmitted = 20_000;

/** What the envelope of a turn is made of. */
export interface Envelope {
  scope: TurnScope;
  limits: TurnLimits;
  events: TurnEvents;
  /** Fires when the turn is over. */
  signal: AbortSignal;
  clock: () => string;
  /** Ends the turn at once: the scope says that it must. */
  onBreak(): void;
}

/** The host a plugin gets: every call passes the turn's own catalog and limits, then the kernel. */
export function createTurnHost(envelope: Envelope): RuntimeHost {
  const { scope, limits, events, signal, clock } = envelope;
  const seen = new Set<string>();
  let calls = 0;
  let refusals = 0;
  let emitted = 0;

  /** Why the envelope refuses a call before the kernel is asked; undefined when it does not. */
  const refusal = (call: ToolCall, step: number): ErrorCode | undefined => {
    if (seen.has(call.id)) return "duplicate_call_id";
    seen.add(call.id);
    if (!scope.offers(call.tool)) return "tool_unavailable";
    if (!(step < limits.maxSteps)) return "step_limit_exceeded";
    if (calls === limits.maxToolCalls) return "tool_call_limit_exceeded";
    calls += 1;
    return undefined;
  };

  /** A turn that must end is over for its plugin, although its signal fires only a moment later. */
  const throwIfOver = (): void => {
    signal.throwIfAborted();
    if (scope.mustEnd !== undefined) throw new Error("The turn has ended.");
  };

  const invoke = async (asked: ToolCall, step: number): Promise<ToolResult> => {
    const accepted = accept(ToolCallSchema, asked);
    if (!accepted.ok) throw new TypeError(`This is no tool call: ${accepted.message}`);
    throwIfOver();
    const call = accepted.value;
    const { id: callId, tool } = call;
    const refused = refusal(call, step);
    if (refused !== undefined && (refusals += 1) > maxRefusals)
      throw new RangeError("This turn was refused too often.");
    events.append("tool.requested", { callId, tool });
    const result = await orAbort(
      refused === undefined ? scope.invokeTool(call, clock(), signal) : scope.refuseTool(call, clock(), refused),
      signal,
    );
    const code = result.status === "succeeded" ? undefined : result.error.code;
    events.append("tool.completed", { callId, tool, status: result.status, ...(code && { code }) });
    if (scope.mustEnd !== undefined) envelope.onBreak();
    return result;
  };

  const beginStep = async (): Promise<void> => {
    throwIfOver();
    await orAbort(scope.checkAccess(clock(), signal), signal);
    if (scope.mustEnd !== undefined) envelope.onBreak();
    throwIfOver();
  };

  return Object.freeze({
    limits,
    invokeTool(call: ToolCall, options?: { step?: number }): Promise<ToolResult> {
      return withoutUnhandledRejection(invoke(call, options?.step ?? 0));
    },
    beginStep: () => withoutUnhandledRejection(beginStep()),
    emit(event: { type: string; data: unknown }): void {
      const { type, data } = event;
      if (signal.aborted) return;
      if (typeof type !== "string") throw new TypeError("An event needs a type.");
      const checked = check(JsonObjectSchema, { type, data });
      if (!checked.ok) throw new TypeError(`This is no event: ${checked.message}`);
      if ((emitted += 1) > maxEmitted) throw new RangeError(`A turn emits at most ${maxEmitted} events.`);
      events.append("runtime.event", checked.value);
    },
  });
}

/** A plugin that does not wait must not bring the process down when the turn ends first. */
function withoutUnhandledRejection<T>(running: Promise<T>): Promise<T> {
  running.catch(() => {});
  return running;
}
