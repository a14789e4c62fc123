import type {
  AccessContext,
  AuditOutcome,
  ErrorCode,
  EscalationInput,
  ReachResult,
  ToolCall,
  ToolDescriptor,
  ToolResult,
} from "../contracts/index.ts";
import { neverAborted } from "../internal/index.ts";
import { recordOutcome } from "./audit.ts";
import type { Ports } from "./call-port.ts";
import { contextAt } from "./context.ts";
import { escalate, type EscalationOutcome } from "./escalate.ts";
import type { EffectOptions } from "./effect.ts";
import { denied, failed, invokeTool, recordToolOutcome } from "./invoke-tool.ts";
import { checkTurnCall, gateOf, type RunningTurn, type TurnBreak } from "./running-turn.ts";
import type { CallOptions, WriteScope } from "./ports.ts";
import { isUnavailable } from "./tool-catalog.ts";
import { accessNow, type AdmissionRecord } from "./call-check.ts";

/** How a turn ended, for the audit log. */
export interface TurnEnd {
  outcome: Extract<AuditOutcome, "succeeded" | "failed" | "denied" | "cancelled" | "escalated">;
  reason?: string | undefined;
}

/** The operations of a running turn. Its authority is that of its admission, and can only shrink. */
export interface TurnScope {
  /** What the turn was admitted with, stored with the turn. */
  admission(): AdmissionRecord;
  readonly tools: readonly ToolDescriptor[];
  /** The names of tools that the turn had before it was interrupted, and whose provider has not answered yet. */
  readonly missing: readonly string[];
  readonly reach: ReachResult;
  /** Whether the turn may call this tool, or the kernel gives a more precise reason why it may not. */
  offers(tool: string): boolean;
  /**
   * True after a tool that writes, and cannot safely be called twice, may have had its effect, and after an escalation may be in the
   * queue although the queue did not confirm it.
   */
  readonly mayHaveTakenEffect: boolean;
  /** Why the turn must end at once: a decision could not be recorded, or the access was revoked. */
  readonly mustEnd: TurnBreak | undefined;
  /** Checks before a step, between calls, whether the access is still active. If not, it sets `mustEnd`. */
  checkAccess(now: string, signal: AbortSignal): Promise<void>;
  /**
   * Calls a tool at the instant `now`, which has to be read anew for every call. The decision and events go to `writes`; `onEffect` is
   * called right before the tool itself.
   */
  invokeTool(
    call: ToolCall,
    now: string,
    signal: AbortSignal,
    options?: Pick<CallOptions, "writes" | "onEffect">,
  ): Promise<ToolResult>;
  /** Records a call that the turn's own limits refused, and returns its result. */
  refuseTool(call: ToolCall, now: string, code: ErrorCode, writes?: WriteScope): Promise<ToolResult>;
  /** Records a call whose outcome is unknown because its process ended, and returns its result. */
  interruptTool(call: ToolCall, now: string, writes?: WriteScope): Promise<ToolResult>;
  /**
   * Consumes the capability to escalate, and makes the escalation from the trusted context. Nothing is thrown once the
   * queue has been asked to store it, because it may have.
   */
  escalate(input: EscalationInput, now: string, signal: AbortSignal): Promise<EscalationOutcome>;
  /** Records the turn's end and refuses every later call. */
  end(end: TurnEnd, now: string, writes?: WriteScope): Promise<void>;
}

/** Opens the scope of a turn that was admitted, with its tools and its reach. */
export function openScope(
  turn: RunningTurn,
  admission: () => AdmissionRecord,
  tools: readonly ToolDescriptor[],
  reach: ReachResult,
): TurnScope {
  const { ports } = turn.gate;
  const offered = new Set(tools.map(({ name }) => name));
  let latest = turn.context;
  const at = (now: string): AccessContext => (latest = contextAt(latest, now));
  return {
    admission,
    tools,
    missing: Object.freeze([...turn.missing]),
    reach,
    offers: (tool) => offered.has(tool) || isUnavailable(turn.catalog, tool),
    get mayHaveTakenEffect() {
      return turn.mayHaveTakenEffect;
    },
    get mustEnd() {
      return turn.mustEnd;
    },
    async checkAccess(now, signal) {
      if (ports.access === undefined) return;
      const access = await accessNow(ports, at(now), signal);
      if (access.kind === "revoked") turn.mustEnd ??= "credential_revoked";
    },
    async invokeTool(call, now, signal, given) {
      const instant = at(now);
      const options = { ...given, signal };
      signal.throwIfAborted();
      if (!turn.isOpen) return refuse(ports, call, instant, "tool_unavailable", options);
      const check = await checkTurnCall(turn, instant, signal);
      if (check.kind === "blocked") return refuse(ports, call, instant, check.reason, options);
      return invokeTool(gateOf(turn, check.view), check.context, call, options);
    },
    refuseTool: async (call, now, code, writes) =>
      refuse(ports, call, at(now), code, { signal: neverAborted(), writes }),
    async interruptTool(call, now, writes) {
      turn.mayHaveTakenEffect = true;
      const instant = at(now);
      const result = failed(call, instant, "tool_interrupted");
      await recordToolOutcome(ports, instant, call, { result }, { signal: neverAborted(), writes });
      return result;
    },
    escalate: async (input, now, signal) => escalate(turn, at(now), input, signal),
    async end(end, now, writes) {
      turn.isOpen = false;
      await recordTurnEnd(ports, at(now), end, writes);
    },
  };
}

async function refuse(
  ports: Ports,
  call: ToolCall,
  instant: AccessContext,
  code: ErrorCode,
  options: EffectOptions,
): Promise<ToolResult> {
  const result = denied(call, instant, code);
  await recordToolOutcome(ports, instant, call, { result }, options);
  return result;
}

/** The signal of a caller that has gone, so that a recording delays the end of a turn only briefly. */
const callerIsGone = AbortSignal.abort();

/** Records the end of a turn, also of one that never had a scope. */
export async function recordTurnEnd(
  ports: Ports,
  context: AccessContext,
  { outcome, reason }: TurnEnd,
  writes?: WriteScope,
): Promise<void> {
  const facts = { type: "turn.ended", outcome, ...(reason && { reason }) } as const;
  await recordOutcome(ports, context, () => facts, callerIsGone, { writes });
}
