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
import { denied, invokeTool, recordToolOutcome } from "./invoke-tool.ts";
import { enterTurn, gateOf, type RunningTurn, type TurnBreak } from "./running-turn.ts";
import { isUnavailable } from "./tool-catalog.ts";
import { accessNow } from "./turn-entry.ts";

/** How a turn ended, for the trail. */
export interface TurnEnd {
  outcome: Extract<AuditOutcome, "succeeded" | "failed" | "denied" | "cancelled" | "escalated">;
  reason?: string | undefined;
}

/** What a running turn holds. Its authority is what was there at admission, and can only shrink. */
export interface TurnScope {
  readonly tools: readonly ToolDescriptor[];
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
  /** Calls a tool at the moment `now`, which has to be read anew for every call. */
  invokeTool(call: ToolCall, now: string, signal: AbortSignal): Promise<ToolResult>;
  /** Puts a call on the trail that the turn's own limits refused, and returns its result. */
  refuseTool(call: ToolCall, now: string, code: ErrorCode): Promise<ToolResult>;
  /**
   * Consumes the capability to escalate, and makes the escalation from the trusted context. Nothing is thrown once the
   * queue has been asked to keep it, because it may have.
   */
  escalate(input: EscalationInput, now: string, signal: AbortSignal): Promise<EscalationOutcome>;
  /** Puts the turn's end on the trail and refuses every later call. */
  end(end: TurnEnd, now: string): Promise<void>;
}

/** The scope of a turn that was admitted, with what it is offered. */
export function openScope(turn: RunningTurn, tools: readonly ToolDescriptor[], reach: ReachResult): TurnScope {
  const { ports } = turn.gate;
  const offered = new Set(tools.map(({ name }) => name));
  let latest = turn.context;
  const at = (now: string): AccessContext => (latest = contextAt(latest, now));
  return {
    tools,
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
    async invokeTool(call, now, signal) {
      const moment = at(now);
      signal.throwIfAborted();
      if (!turn.isOpen) return refuse(ports, call, moment, "tool_unavailable", signal);
      const entry = await enterTurn(turn, moment, signal);
      if (entry.kind === "shut") return refuse(ports, call, moment, entry.reason, signal);
      return invokeTool(gateOf(turn, entry.view), entry.context, call, { signal });
    },
    refuseTool: async (call, now, code) => refuse(ports, call, at(now), code, neverAborted()),
    escalate: async (input, now, signal) => escalate(turn, at(now), input, signal),
    async end(end, now) {
      turn.isOpen = false;
      await recordTurnEnd(ports, at(now), end);
    },
  };
}

async function refuse(
  ports: Ports,
  call: ToolCall,
  moment: AccessContext,
  code: ErrorCode,
  signal: AbortSignal,
): Promise<ToolResult> {
  const result = denied(call, moment, code);
  await recordToolOutcome(ports, moment, call, { result }, { signal });
  return result;
}

/** Nobody is left to wait: what is recorded under it holds its turn for a moment at most. */
const callerIsGone = AbortSignal.abort();

/** Puts the end of a turn on the trail, also of one that never had a scope. */
export async function recordTurnEnd(ports: Ports, context: AccessContext, { outcome, reason }: TurnEnd): Promise<void> {
  const facts = { type: "turn.ended", outcome, ...(reason && { reason }) } as const;
  await recordOutcome(ports, context, () => facts, callerIsGone);
}
