import {
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
import { deepFreeze, neverAborted } from "../internal/index.ts";
import { record, recordOutcome, type AuditFacts } from "./audit.ts";
import { acceptRequest, authorizeEffect, namesContextOwner, type Gate } from "./authorize.ts";
import { acceptContext, contextAt } from "./context.ts";
import { reportPortError, type Ports } from "./call-port.ts";
import type { AuthorityView } from "./authority.ts";
import { momentOf } from "./candidates.ts";
import { carryOutEffect } from "./effect.ts";
import { denied, invokeTool, recordToolOutcome, type ToolGate } from "./invoke-tool.ts";
import { visibleTools, type Listing, type Listings } from "./list-tools.ts";
import { reachOf } from "./reach.ts";
import { mintAuthorityRequest } from "./required-authority.ts";
import { areAllValid, standing, type Standing } from "./standing.ts";
import { isUnavailable, resolveCatalog, type ToolCatalog, type ToolRegistry } from "./tool-catalog.ts";
import { accessNow, enter, revoked, type Entry, type ShutReason, type TurnBasis } from "./turn-entry.ts";

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
  | { kind: "refused"; reason: ShutReason | NotAsked | "tool_unavailable" };

/** Why a question that was allowed is not in the queue. */
type NotAsked = "escalation_unavailable" | "too_many_escalations";

/** What a turn cannot go on without: the trail, and the access it was admitted with. */
export type TurnBreak = "audit_unavailable" | "credential_revoked";

/** What a running turn holds. Its authority is what was there at admission, and can only shrink. */
export interface TurnScope {
  readonly tools: readonly ToolDescriptor[];
  readonly reach: ReachResult;
  /** Whether the turn may call this tool, or the kernel has something better to say of it than that it may not. */
  offers(tool: string): boolean;
  /**
   * True once a tool that writes, and cannot safely be called twice, may have had its effect, or a question may be in
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
   * Consumes the capability to escalate, and makes the question to the owner from the trusted context. Nothing is thrown
   * once the queue has been asked to keep it, because it may have.
   */
  escalate(ask: EscalationAsk, now: string, signal: AbortSignal): Promise<EscalationOutcome>;
  /** Puts the turn's end on the trail and refuses every later call. */
  end(end: TurnEnd, now: string): Promise<void>;
}

/** Everything a turn scope is made of. */
export interface TurnSetting {
  gate: Gate;
  registry: ToolRegistry;
  listings: Listings;
}

const toEscalate: AuthorizationRequest = deepFreeze({
  action: "request",
  resource: { namespace: "service", path: ["escalation"] },
});
/** The tool namespace of the affordance to escalate. */
const escalationNamespace = "service";

/** Consumes the capability to run the agent, and opens the scope of its turn. */
export async function admitTurn(
  { gate, registry, listings }: TurnSetting,
  context: AccessContext,
  turn: TurnToAdmit,
  signal: AbortSignal,
): Promise<TurnAdmission> {
  signal.throwIfAborted();
  const trusted = acceptContext(context);
  if (trusted === undefined) return refused("invalid_context");
  const view = await gate.view(trusted, signal);
  const atAdmission: Gate = { ports: gate.ports, view: () => Promise.resolve(view) };
  const request = acceptRequest(trusted, toRun(turn.agent));
  const decision = await authorizeEffect(atAdmission, trusted, request, {}, signal);
  if (decision.kind === "deny") return refused(decision.reason);

  if (request === undefined || view === undefined) return refused("authority_unavailable");

  const listing = listingOf(listings, turn.tools, trusted);
  const catalog = listing?.catalog ?? (await resolveCatalog(registry, gate.ports, trusted, signal));
  const moment = momentOf(trusted);
  const judged = await standing(gate.ports, view, moment, signal);
  const tools = toolsToOffer(turn.tools, listing, view, catalog, trusted, judged);
  if (tools === undefined) return refused("authority_unavailable");
  const reach = reachOf(view, moment, judged);
  signal.throwIfAborted();
  const started = await record(gate.ports, trusted, () => ({ type: "turn.started", outcome: "allowed" }), signal);
  if (!started) return refused("audit_unavailable");
  const excluded = new Set([...judged.invalid, ...judged.unknown.keys()]);
  const admitted = { authority: view.current, moment, excluded };
  const basis = { request, grant: decision.grant, admitted };
  return { kind: "admitted", scope: openScope(gate, trusted, basis, catalog, tools, reach) };
}

/** A question that is not in the queue, as far as anybody knows: one that was not answered in time may be there after all. */
interface Unkept {
  reason: NotAsked;
  mayBeKept: boolean;
}

/** Adds the question like any effect: a caller that goes leaves the queue a moment to say whether it kept it. */
async function keepQuestion(
  ports: Ports,
  context: AccessContext,
  escalation: Escalation,
  signal: AbortSignal,
): Promise<Unkept | undefined> {
  const { escalations } = ports;
  if (escalations === undefined) return undefined;
  const end = await carryOutEffect(ports, { signal }, () => escalations.add(context, escalation));
  if (end.kind === "returned")
    return end.value === "full" ? { reason: "too_many_escalations", mayBeKept: false } : undefined;
  reportPortError(ports, end.error, { port: "escalations" });
  return { reason: "escalation_unavailable", mayBeKept: end.isLate };
}

/** What a list was made of, when it was made for this very access. */
function listingOf(
  listings: Listings,
  tools: readonly ToolDescriptor[] | undefined,
  context: AccessContext,
): Listing | undefined {
  const known = tools && listings.get(tools);
  return known !== undefined && isSameAccess(known.context, context) ? known : undefined;
}

/**
 * The visible tools, of those that were asked for; undefined when they cannot be established. A list that was made of the
 * same grants at the same moment is all visible when each of these grants is valid.
 */
function toolsToOffer(
  asked: readonly ToolDescriptor[] | undefined,
  listing: Listing | undefined,
  view: AuthorityView,
  catalog: ToolCatalog,
  context: AccessContext,
  judged: Standing,
): readonly ToolDescriptor[] | undefined {
  const isStillTrue = listing?.authority === view.current && listing.context.now === context.now && areAllValid(judged);
  if (isStillTrue) return asked;
  const visible = visibleTools(view, catalog, context, judged);
  return visible && asked ? offered(visible, asked) : visible;
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
    areEqual(one.enabledToolNamespaces, other.enabledToolNamespaces)
  );
}

function areEqual(one: readonly string[], other: readonly string[]): boolean {
  return one === other || (one.length === other.length && one.every((name, place) => name === other[place]));
}

/** Nobody is left to wait: what is recorded under it holds its turn for a moment at most. */
const over = AbortSignal.abort();

/** Puts the end of a turn on the trail that never had a scope. */
export async function recordTurnEnd(ports: Ports, context: AccessContext, { outcome, reason }: TurnEnd): Promise<void> {
  await recordOutcome(ports, context, () => ({ type: "turn.ended", outcome, ...(reason && { reason }) }), over);
}

function refused<Reason extends string>(reason: Reason): { kind: "refused"; reason: Reason } {
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
  basis: TurnBasis,
  catalog: ToolCatalog,
  tools: readonly ToolDescriptor[],
  reach: ReachResult,
): TurnScope {
  const { ports } = gate;
  const offeredNames = new Set(tools.map(({ name }) => name));
  let isOpen = true;
  let mayHaveTakenEffect = false;
  let mustEnd: TurnBreak | undefined;
  const turnGate = (view: AuthorityView | undefined): ToolGate => ({
    ports,
    catalog: () => Promise.resolve(catalog),
    view: () => Promise.resolve(view),
    begin({ readWrite, annotations }) {
      if (!isOpen) return "tool_unavailable";
      if (mustEnd === "credential_revoked") return mustEnd;
      mayHaveTakenEffect ||= readWrite === "write" && annotations?.idempotent !== true;
      return undefined;
    },
    onAuditOutage() {
      mustEnd ??= "audit_unavailable";
    },
  });
  const at = (now: string): AccessContext => contextAt(context, now);
  /** Looks whether a call may be made at all; that it may not is on the trail as a decision about the turn itself. */
  const enterAt = async (moment: AccessContext, signal: AbortSignal): Promise<Entry> => {
    const entry = mustEnd === "credential_revoked" ? revoked : await enter(gate, basis, moment, signal);
    if (entry.kind === "open") return entry;
    if (entry.reason === "credential_revoked") mustEnd ??= entry.reason;
    const { reason, metadata } = entry;
    const refusal: AuditFacts = {
      type: "authorization.checked",
      outcome: "denied",
      ...basis.request,
      reason,
      metadata,
    };
    await recordOutcome(ports, moment, () => refusal, signal);
    return entry;
  };
  const refuse = async (
    call: ToolCall,
    moment: AccessContext,
    code: ErrorCode,
    signal: AbortSignal,
  ): Promise<ToolResult> => {
    const result = denied(call, moment, code);
    await recordToolOutcome(ports, moment, call, { result }, signal);
    return result;
  };

  return {
    tools,
    reach,
    offers: (tool) => offeredNames.has(tool) || isUnavailable(catalog, tool),
    get mayHaveTakenEffect() {
      return mayHaveTakenEffect;
    },
    get mustEnd() {
      return mustEnd;
    },
    async checkAccess(now, signal) {
      if (ports.access === undefined) return;
      const access = await accessNow(ports, at(now), signal);
      if (access.kind === "revoked") mustEnd ??= "credential_revoked";
    },
    async invokeTool(call, now, signal) {
      const moment = at(now);
      signal.throwIfAborted();
      if (!isOpen) return refuse(call, moment, "tool_unavailable", signal);
      const entry = await enterAt(moment, signal);
      if (entry.kind === "shut") return refuse(call, moment, entry.reason, signal);
      return invokeTool(turnGate(entry.view), entry.context, call, { signal });
    },
    refuseTool: (call, now, code) => refuse(call, at(now), code, neverAborted()),
    async escalate({ reason, requestedAuthority: ask }, now, signal) {
      const moment = at(now);
      signal.throwIfAborted();
      if (!isOpen) return refused("tool_unavailable");
      const entry = await enterAt(moment, signal);
      if (entry.kind === "shut") return refused(entry.reason);
      if (isSwitchedOff(escalationNamespace, context, entry.context)) {
        const hidden: AuditFacts = { type: "authorization.checked", outcome: "denied", reason: "tool_unavailable" };
        const metadata = { hidden: "namespace-disabled" };
        await recordOutcome(ports, moment, () => ({ ...hidden, ...toEscalate, metadata }), signal);
        return refused("tool_unavailable");
      }
      const asksOwn = ask?.capabilities.every(({ resource }) => namesContextOwner(resource, moment)) ?? true;
      const request = asksOwn ? toEscalate : undefined;
      const decision = await authorizeEffect(turnGate(entry.view), moment, request, {}, signal);
      if (decision.kind === "deny") return refused(decision.reason);
      const requestedAuthority = ask && mintAuthorityRequest(moment, ask);
      const asked: AuditFacts = {
        type: "escalation.requested",
        outcome: "escalated",
        receiver: context.owner,
        ...(requestedAuthority && { metadata: { authorityRequestId: requestedAuthority.id } }),
      };
      signal.throwIfAborted();
      if (!(await record(ports, moment, () => asked, signal))) return refused("audit_unavailable");
      const question: Escalation = { status: "pending", reason, requestedAt: now, reviewer: context.owner };
      const escalation = { ...question, ...(requestedAuthority && { requestedAuthority }) };
      const unkept = await keepQuestion(ports, moment, escalation, signal);
      if (unkept === undefined) return { kind: "pending", escalation };
      mayHaveTakenEffect ||= unkept.mayBeKept;
      // The trail says that the owner was asked, which has to be taken back.
      await recordOutcome(ports, moment, () => ({ ...asked, outcome: "failed", reason: unkept.reason }), signal);
      return refused(unkept.reason);
    },
    async end(end, now) {
      isOpen = false;
      await recordTurnEnd(ports, at(now), end);
    },
  };
}

function isSwitchedOff(namespace: string, admitted: AccessContext, now: AccessContext): boolean {
  return admitted.enabledToolNamespaces.includes(namespace) && !now.enabledToolNamespaces.includes(namespace);
}
