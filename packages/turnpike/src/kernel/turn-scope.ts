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
import { enterTurn, gateOf, type RunningTurn, type TurnBreak } from "./running-turn.ts";
import type { CallOptions } from "./ports.ts";
import { isUnavailable } from "./tool-catalog.ts";
import { accessNow, type AdmissionRecord } from "./turn-entry.ts";

/** How a turn ended, for the trail. */
export interface TurnEnd {
  outcome: Extract<AuditOutcome, "succeeded" | "failed" | "denied" | "cancelled" | "escalated">;
  reason?: string | undefined;
}

/** What a running turn holds. Its authority is what was there at admission, and can only shrink. */
export interface TurnScope {
  /** What the turn was admitted with, to be kept with it. */
  admission(): AdmissionRecord;
  readonly tools: readonly ToolDescriptor[];
  /** The names of tools that the turn had before it was interrupted, and whose provider has not answered yet. */
  readonly missing: readonly string[];
  readonly reach: ReachResult;
  /** Whether the turn may call this tool, or the kernel has something better to say of it than that it may not. */
  offers(tool: string): boolean;
  /**
   * True once a tool that writes, and cannot safely be called twice, may have had its effect, or an escalation may be in
   * the queue though the queue never said so.
   */
  readonly mayHaveTakenEffect: boolean;
  /** Why the turn must end at once: a decision could not be recorded, or the access was revoked. */
  readonly mustEnd: TurnBreak | undefined;
  /** Between calls, before a step: asks whether the access still stands, which `mustEnd` then says. */
  checkAccess(now: string, signal: AbortSignal): Promise<void>;
  /**
   * Calls a tool at the moment `now`, which has to be read anew for every call. Ports that keep something get `claim`;
   * `onEffect` is told right before the tool itself is called.
   */
  invokeTool(
    call: ToolCall,
    now: string,
    signal: AbortSignal,
    options?: Pick<CallOptions, "claim" | "onEffect">,
  ): Promise<ToolResult>;
  /** Puts a call on the trail that the turn's own limits refused, and returns its result. */
  refuseTool(call: ToolCall, now: string, code: ErrorCode, claim?: unknown): Promise<ToolResult>;
  /** Puts a call on the trail of which nobody knows what became of it, because its process ended, and returns its result. */
  interruptTool(call: ToolCall, now: string, claim?: unknown): Promise<ToolResult>;
  /**
   * Consumes the capability to escalate, and makes the escalation from the trusted context. Nothing is thrown once the
   * queue has been asked to keep it, because it may have.
   */
  escalate(input: EscalationInput, now: string, signal: AbortSignal): Promise<EscalationOutcome>;
  /** Puts the turn's end on the trail and refuses every later call. */
  end(end: TurnEnd, now: string, claim?: unknown): Promise<void>;
}

/** The scope of a turn that was admitted, with what it is offered. */
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
      const moment = at(now);
      const options = { ...given, signal };
      signal.throwIfAborted();
      if (!turn.isOpen) return refuse(ports, call, moment, "tool_unavailable", options);
      const entry = await enterTurn(turn, moment, signal);
      if (entry.kind === "shut") return refuse(ports, call, moment, entry.reason, options);
      return invokeTool(gateOf(turn, entry.view), entry.context, call, options);
    },
    refuseTool: async (call, now, code, claim) => refuse(ports, call, at(now), code, { signal: neverAborted(), claim }),
    async interruptTool(call, now, claim) {
      turn.mayHaveTakenEffect = true;
      const moment = at(now);
      const result = failed(call, moment, "tool_interrupted");
      await recordToolOutcome(ports, moment, call, { result }, { signal: neverAborted(), claim });
      return result;
    },
    escalate: async (input, now, signal) => escalate(turn, at(now), input, signal),
    async end(end, now, claim) {
      turn.isOpen = false;
      await recordTurnEnd(ports, at(now), end, claim);
    },
  };
}

async function refuse(
  ports: Ports,
  call: ToolCall,
  moment: AccessContext,
  code: ErrorCode,
  options: EffectOptions,
): Promise<ToolResult> {
  const result = denied(call, moment, code);
  await recordToolOutcome(ports, moment, call, { result }, options);
  return result;
}

/** Nobody is left to wait: what is recorded under it holds its turn for a moment at most. */
const callerIsGone = AbortSignal.abort();

/** Puts the end of a turn on the trail, also of one that never had a scope. */
export async function recordTurnEnd(
  ports: Ports,
  context: AccessContext,
  { outcome, reason }: TurnEnd,
  claim?: unknown,
): Promise<void> {
  const facts = { type: "turn.ended", outcome, ...(reason && { reason }) } as const;
  await recordOutcome(ports, context, () => facts, callerIsGone, { claim });
}
