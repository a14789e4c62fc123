import {
  amendContext,
  samePrincipal,
  type AccessContext,
  type AgentRef,
  type AuditOutcome,
  type AuthorizationRequest,
  type DiscoveryContext,
  type ErrorCode,
  type Escalation,
  type EscalationAsk,
  type ReachResult,
  type ReasonCode,
  type ToolCall,
  type ToolDescriptor,
  type ToolResult,
} from "../contracts/index.ts";
import { record } from "./audit.ts";
import { acceptContext, acceptRequest, authorizeEffect, namesContextOwner, type Gate } from "./authorize.ts";
import { callPort, type Ports } from "./call-port.ts";
import type { AdmittedAuthority } from "./authority.ts";
import { momentOf } from "./candidates.ts";
import { denied, invokeTool, recordToolOutcome, type ToolGate } from "./invoke-tool.ts";
import { visibleTools, type ListedCatalogs } from "./list-tools.ts";
import { establishReach } from "./reach.ts";
import { mintAuthorityRequest } from "./required-authority.ts";
import { isUnavailable, resolveCatalog, type ToolCatalog, type ToolRegistry } from "./tool-catalog.ts";

/** A turn that asks to run. */
export interface TurnToAdmit {
  agent: AgentRef;
  /** The tools to offer; those the context cannot use are left out. All visible ones when absent. */
  tools?: readonly ToolDescriptor[] | undefined;
}

/** Whether the turn may run. */
export type TurnAdmission =
  | { kind: "admitted"; scope: TurnScope }
  | { kind: "refused"; reason: Exclude<ReasonCode, "allowed"> };

/** How a turn ended, for the trail. */
export interface TurnEnd {
  outcome: Extract<AuditOutcome, "succeeded" | "failed" | "denied" | "cancelled" | "escalated">;
  reason?: string | undefined;
}

/** What became of the wish to escalate. */
export type EscalationOutcome =
  | { kind: "pending"; escalation: Escalation }
  | { kind: "refused"; reason: Exclude<ReasonCode, "allowed"> | NotAsked };

/** Why a question that was allowed is not in the queue. */
type NotAsked = "escalation_unavailable" | "too_many_escalations";

/** What a running turn holds. Its authority is what was there at admission, and can only shrink. */
export interface TurnScope {
  readonly tools: readonly ToolDescriptor[];
  readonly reach: ReachResult;
  /** Whether the turn may call this tool, or the kernel has something better to say of it than that it may not. */
  offers(tool: string): boolean;
  /** True once a tool that writes, and cannot safely be called twice, may have had its effect. */
  readonly mayHaveTakenEffect: boolean;
  /** True once a decision could not be recorded: the turn must end. */
  readonly hasLostAudit: boolean;
  /** Calls a tool at the moment `now`, which has to be read anew for every call. */
  invokeTool(call: ToolCall, now: string, signal: AbortSignal): Promise<ToolResult>;
  /** Puts a call on the trail that the turn's own limits refused, and returns its result. */
  refuseTool(call: ToolCall, now: string, code: ErrorCode): Promise<ToolResult>;
  /** Consumes the capability to escalate, and makes the question to the owner from the trusted context. */
  escalate(ask: EscalationAsk, now: string, signal: AbortSignal): Promise<EscalationOutcome>;
  /** Puts the turn's end on the trail and refuses every later call. */
  end(end: TurnEnd, now: string): Promise<void>;
}

/** Everything a turn scope is made of. */
export interface TurnSetting {
  gate: Gate;
  registry: ToolRegistry;
  listed: ListedCatalogs;
}

const toEscalate: AuthorizationRequest = {
  action: "request",
  resource: { namespace: "service", path: ["escalation"] },
};

/** Consumes the capability to run the agent, and opens the scope of its turn. */
export async function admitTurn(
  { gate, registry, listed }: TurnSetting,
  context: AccessContext,
  turn: TurnToAdmit,
  signal: AbortSignal,
): Promise<TurnAdmission> {
  signal.throwIfAborted();
  const trusted = acceptContext(context);
  if (trusted === undefined) return refused("invalid_context");
  const view = await gate.view(trusted, signal);
  const atAdmission: Gate = { ports: gate.ports, view: () => Promise.resolve(view) };
  const decision = await authorizeEffect(atAdmission, trusted, acceptRequest(trusted, toRun(turn.agent)), {}, signal);
  if (decision.kind === "deny") return refused(decision.reason);

  if (view === undefined) return refused("authority_unavailable");

  const catalog =
    listedCatalog(listed, turn.tools, trusted) ?? (await resolveCatalog(registry, gate.ports, trusted, signal));
  const visible = await visibleTools(gate.ports, view, catalog, trusted, signal);
  if (visible === undefined) return refused("authority_unavailable");
  const reach = await establishReach(atAdmission, trusted, signal);
  signal.throwIfAborted();
  const started = await record(gate.ports, trusted, () => ({ type: "turn.started", outcome: "allowed" }));
  if (!started) return refused("audit_unavailable");
  const { fallen, doubtful } = visible.standing;
  const excluded = new Set([...fallen, ...doubtful.keys()]);
  const admitted = { authority: view.current, moment: momentOf(trusted), excluded };
  const tools = turn.tools === undefined ? visible.tools : offered(visible.tools, turn.tools);
  return { kind: "admitted", scope: openScope(gate, trusted, admitted, catalog, tools, reach) };
}

async function keepQuestion(
  ports: Ports,
  context: AccessContext,
  escalation: Escalation,
  signal: AbortSignal,
): Promise<NotAsked | undefined> {
  const { escalations } = ports;
  if (escalations === undefined) return undefined;
  const kept = await callPort(ports, { port: "escalations" }, signal, () => escalations.add(context, escalation));
  if (!kept.ok) return "escalation_unavailable";
  return kept.value === "full" ? "too_many_escalations" : undefined;
}

/** The catalog that a list was made from, when it was made for this very access. */
function listedCatalog(
  listed: ListedCatalogs,
  tools: readonly ToolDescriptor[] | undefined,
  context: AccessContext,
): ToolCatalog | undefined {
  const known = tools && listed.get(tools);
  return known !== undefined && isSameAccess(known.context, context) ? known.catalog : undefined;
}

function isSameAccess(one: DiscoveryContext, other: DiscoveryContext): boolean {
  return (
    one.namespaceId === other.namespaceId &&
    one.purpose === other.purpose &&
    one.traceId === other.traceId &&
    samePrincipal(one.actor, other.actor) &&
    samePrincipal(one.owner, other.owner) &&
    one.authority !== undefined &&
    other.authority !== undefined &&
    samePrincipal(one.authority, other.authority) &&
    JSON.stringify(one.enabledToolNamespaces) === JSON.stringify(other.enabledToolNamespaces)
  );
}

/** Puts the end of a turn on the trail that never had a scope. */
export async function recordTurnEnd(ports: Ports, context: AccessContext, { outcome, reason }: TurnEnd): Promise<void> {
  await record(ports, context, () => ({ type: "turn.ended", outcome, ...(reason && { reason }) }));
}

function refused(reason: Exclude<ReasonCode, "allowed">): { kind: "refused"; reason: Exclude<ReasonCode, "allowed"> } {
  return { kind: "refused", reason };
}

function toRun({ agentId }: AgentRef): AuthorizationRequest {
  return { action: "invoke", resource: { namespace: "service.execution", path: ["agent", agentId] } };
}

function offered(visible: readonly ToolDescriptor[], asked: readonly ToolDescriptor[]): readonly ToolDescriptor[] {
  const names = new Set(asked.map((tool) => tool.name));
  return Object.freeze(visible.filter((tool) => names.has(tool.name)));
}

function openScope(
  gate: Gate,
  context: AccessContext,
  admitted: AdmittedAuthority,
  catalog: ToolCatalog,
  tools: readonly ToolDescriptor[],
  reach: ReachResult,
): TurnScope {
  const { ports } = gate;
  const offeredNames = new Set(tools.map(({ name }) => name));
  let isOpen = true;
  let mayHaveTakenEffect = false;
  let hasLostAudit = false;
  const turnGate: ToolGate = {
    ports,
    catalog: () => Promise.resolve(catalog),
    async view(atCall, signal) {
      const fresh = await gate.view(atCall, signal);
      return fresh && { current: fresh.current, admitted };
    },
    onEffect({ readWrite, annotations }) {
      if (!isOpen) throw new Error("The turn has ended.");
      mayHaveTakenEffect ||= readWrite === "write" && annotations?.idempotent !== true;
    },
    onAuditOutage() {
      hasLostAudit = true;
    },
  };
  const at = (now: string): AccessContext => {
    const moment = amendContext(context, { now });
    if (moment === undefined) throw new TypeError("The clock of the turn gave no RFC 3339 time.");
    return moment;
  };
  const refuseTool = async (call: ToolCall, now: string, code: ErrorCode): Promise<ToolResult> => {
    const moment = at(now);
    const result = denied(call, moment, code);
    await recordToolOutcome(ports, moment, call, { result });
    return result;
  };

  return {
    tools,
    reach,
    offers: (tool) => offeredNames.has(tool) || isUnavailable(catalog, tool),
    get mayHaveTakenEffect() {
      return mayHaveTakenEffect;
    },
    get hasLostAudit() {
      return hasLostAudit;
    },
    invokeTool: async (call, now, signal) =>
      isOpen ? invokeTool(turnGate, at(now), call, signal) : refuseTool(call, now, "tool_unavailable"),
    refuseTool,
    async escalate({ reason, requestedAuthority: ask }, now, signal) {
      const moment = at(now);
      const asksOwn = ask?.capabilities.every(({ resource }) => namesContextOwner(resource, moment)) ?? true;
      const request = asksOwn ? acceptRequest(moment, toEscalate) : undefined;
      const decision = await authorizeEffect(turnGate, moment, request, {}, signal);
      if (decision.kind === "deny") return refused(decision.reason);
      const requestedAuthority = ask && mintAuthorityRequest(moment, ask);
      signal.throwIfAborted();
      const recorded = await record(ports, moment, () => ({
        type: "escalation.requested",
        outcome: "escalated",
        receiver: context.owner,
        ...(requestedAuthority && { metadata: { authorityRequestId: requestedAuthority.id } }),
      }));
      if (!recorded) return refused("audit_unavailable");
      const question: Escalation = { status: "pending", reason, requestedAt: now, reviewer: context.owner };
      const escalation = { ...question, ...(requestedAuthority && { requestedAuthority }) };
      const notAsked = await keepQuestion(ports, moment, escalation, signal);
      return notAsked === undefined ? { kind: "pending", escalation } : { kind: "refused", reason: notAsked };
    },
    async end(end, now) {
      isOpen = false;
      await recordTurnEnd(ports, at(now), end);
    },
  };
}
