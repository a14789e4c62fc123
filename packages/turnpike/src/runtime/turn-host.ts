import {
  accept,
  check,
  JsonObjectSchema,
  ToolCallSchema,
  type ErrorCode,
  type ToolCall,
  type ToolResult,
} from "../contracts/index.ts";
import type { TurnScope } from "../kernel/index.ts";
import type { Deadline } from "./deadline.ts";
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
  deadline: Deadline;
  clock: () => string;
  /** Ends the turn at once: a decision could not be recorded. */
  onAuditOutage(): void;
}

/** The host a plugin gets: every call passes the turn's own catalog and limits, then the kernel. */
export function createTurnHost(envelope: Envelope): RuntimeHost {
  const { scope, limits, events, deadline, clock } = envelope;
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

  const invoke = async (asked: ToolCall, step: number): Promise<ToolResult> => {
    const accepted = accept(ToolCallSchema, asked);
    if (!accepted.ok) throw new TypeError(`This is no tool call: ${accepted.message}`);
    deadline.signal.throwIfAborted();
    const call = accepted.value;
    const { id: callId, tool } = call;
    const refused = refusal(call, step);
    if (refused !== undefined && (refusals += 1) > maxRefusals)
      throw new RangeError("This turn was refused too often.");
    events.append("tool.requested", { callId, tool });
    const result = await deadline.orEnd(
      refused === undefined
        ? scope.invokeTool(call, clock(), deadline.signal)
        : scope.refuseTool(call, clock(), refused),
    );
    const code = result.status === "succeeded" ? undefined : result.error.code;
    events.append("tool.completed", { callId, tool, status: result.status, ...(code && { code }) });
    if (scope.hasLostAudit) envelope.onAuditOutage();
    return result;
  };

  return Object.freeze({
    limits,
    invokeTool(call: ToolCall, options?: { step?: number }): Promise<ToolResult> {
      const running = invoke(call, options?.step ?? 0);
      // A plugin that does not wait for a call must not bring the process down when the turn ends first.
      running.catch(() => {});
      return running;
    },
    emit(event: { type: string; data: unknown }): void {
      const { type, data } = event;
      if (deadline.signal.aborted) return;
      if (typeof type !== "string") throw new TypeError("An event needs a type.");
      const checked = check(JsonObjectSchema, { type, data });
      if (!checked.ok) throw new TypeError(`This is no event: ${checked.message}`);
      if ((emitted += 1) > maxEmitted) throw new RangeError(`A turn emits at most ${maxEmitted} events.`);
      events.append("runtime.event", checked.value);
    },
  });
}
