import {
  AuthorizationRequestSchema,
  AuthorizeRequestSchema,
  samePrincipal,
  type AccessContext,
  type AuthorizationDecision,
  type AuthorizationRequest,
  type AuthorizeRequest,
  type DiscoveryContext,
  type ResourceRef,
} from "../contracts/index.ts";
import { accept } from "../internal/index.ts";
import { auditEvent, record, recordChoice, type AuditFacts } from "./audit.ts";
import { acceptContext } from "./context.ts";
import type { Ports } from "./call-port.ts";
import type { AuthorityView } from "./authority.ts";
import { instantOf } from "./candidates.ts";
import type { CompiledGrant } from "./active.ts";
import { ActApproval, type ActToDecide } from "./approval.ts";
import { choose, decide, deny, type Choice, type Decision } from "./decide.ts";
import { denialMetadata } from "./diagnose.ts";
import type { Approver } from "./permits.ts";
import type { CallOptions, DecisionChoice, DecisionLedger, GrantUse } from "./ports.ts";
import { requiredAuthority } from "./required-authority.ts";
import { consume, peek, type Spend } from "./spend.ts";
import { fitOf, reservationsOf, reservedUnder, withRelease, type Spends } from "./spending.ts";

/** The grants that count; undefined when they cannot be established. */
type View = AuthorityView | undefined;

/** Where decisions are made: the ports, and the grants that count here and now. */
export interface Gate {
  ports: Ports;
  /** The grants the context may exercise. */
  view(context: DiscoveryContext, signal: AbortSignal): View | Promise<View>;
}

/** What an operation adds to the audit event of its decision. */
type DecisionFacts = Pick<AuditFacts, "tool" | "operationId" | "messageId" | "receiver">;

/** A request to decide about, with the grants that count, and further facts for the audit log. */
export interface DecisionSubject extends ActToDecide {
  /** An accepted request, or undefined when what was asked cannot be one. */
  request: AuthorizationRequest | undefined;
  view: View;
  facts?: DecisionFacts;
  /** What the act costs. */
  spends?: Spends | undefined;
}

/** The operation `authorize`: decides without consuming, and says what would have to be granted. */
export async function authorize(
  gate: Gate,
  context: AccessContext,
  asked: AuthorizeRequest,
  signal: AbortSignal,
): Promise<AuthorizationDecision> {
  signal.throwIfAborted();
  const trusted = acceptContext(context);
  if (trusted === undefined) return { allowed: false, reasonCode: "invalid_context" };
  const { accepted, spends } = acceptAsked(trusted, asked);
  const loading = accepted && gate.view(trusted, signal);
  const view = loading instanceof Promise ? await loading : loading;
  const deciding = decideAndRecord(gate.ports, { context: trusted, request: accepted, view, spends }, peek, { signal });
  const decision = deciding instanceof Promise ? await deciding : deciding;
  if (decision.kind === "allow") {
    return { allowed: true, reasonCode: "allowed", matchedGrantId: decision.grant.grant.id };
  }
  const { reason, details, metadata = details } = decision;
  const isMissing = reason === "no_matching_grant" || reason === "approval_required";
  const required = isMissing && accepted ? requiredAuthority(trusted, accepted) : undefined;
  return {
    allowed: false,
    reasonCode: reason,
    ...(metadata && { metadata }),
    ...(required && { requiredAuthority: required }),
  };
}

/** The request without what it says of its cost. */
export function acceptAsked(
  context: AccessContext,
  asked: AuthorizeRequest,
): { accepted: AuthorizationRequest | undefined; spends?: Spends } {
  const read = accept(AuthorizeRequestSchema, asked);
  if (!read.ok || !namesContextOwner(read.value.resource, context)) return { accepted: undefined };
  const { spends } = read.value;
  if (spends === undefined) return { accepted: read.value };
  const { action, resource } = read.value;
  return { accepted: Object.freeze({ action, resource }), spends: () => spends };
}

/**
 * Decides for an execution: a bounded grant loses one use, a permit its only one, and the decision is recorded before
 * anything happens. When only a person's approval is missing, it is asked for.
 */
export function authorizeEffect(
  ports: Ports,
  subject: DecisionSubject,
  call: CallOptions & { signal: AbortSignal },
): Decision | Promise<Decision> {
  const approval = new ActApproval(ports, subject, call);
  if (ports.ledger !== undefined) return decideInLedger(ports, ports.ledger, subject, approval, call);
  const decided = decideAndRecord(ports, subject, consume, call, approval);
  return decided instanceof Promise
    ? decided.then((decision) => answerTo(ports, decision, subject, approval, call.signal))
    : decided;
}

/** Hands every possible decision to the ledger, which takes the use and stores the event in one step. */
async function decideInLedger(
  ports: Ports,
  ledger: DecisionLedger,
  subject: DecisionSubject,
  approval: ActApproval,
  call: CallOptions & { signal: AbortSignal },
): Promise<Decision> {
  call.signal.throwIfAborted();
  const choices = await chooseOn(ports, subject, approval, call.signal);
  const { namespaceId } = subject.context;
  const offered = choices.map(({ decision, use, left, draws, permit }) => {
    const choice: DecisionChoice = { event: auditEvent(subject.context, factsOf(subject, decision, approval)) };
    if (use !== undefined) choice.uses = [useOf(use)];
    if (left !== undefined) choice.left = [useOf(left)];
    if (draws !== undefined) choice.reservations = reservationsOf(draws);
    if (permit !== undefined) choice.permit = { namespaceId, id: permit.id };
    return choice;
  });
  const place = await recordChoice(ports, ledger, offered, call);
  const chosen = place === undefined ? undefined : choices[place];
  if (place === undefined || chosen === undefined) return deny("audit_unavailable");
  const { decision, draws } = chosen;
  if (decision.kind === "allow" && draws !== undefined) {
    const { event } = offered[place] as DecisionChoice;
    return { ...decision, reserved: reservedUnder(event.id, draws) };
  }
  return answerTo(ports, decision, subject, approval, call.signal);
}

/** A denial as its caller is told it: with the escalation that asks for a missing approval, or with what is left of a budget. */
function answerTo(
  ports: Ports,
  decision: Decision,
  { context }: Pick<DecisionSubject, "context">,
  approval: ActApproval,
  signal: AbortSignal,
): Decision | Promise<Decision> {
  if (decision.kind === "allow") return decision;
  return decision.lacks === undefined ? withWhatIsLeft(ports, decision, context, signal) : approval.ask(decision);
}

/** Adds what is left of the budget for which an act was denied, if that is not said yet. */
export async function withWhatIsLeft<Denial extends Decision & { kind: "deny" }>(
  ports: Ports,
  decision: Denial,
  context: AccessContext,
  signal: AbortSignal,
): Promise<Denial> {
  if (decision.reason !== "budget_exhausted" || decision.details !== undefined) return decision;
  for (const [{ grant }, { refusal, draws }] of decision.findings) {
    if (refusal !== "budget_exhausted" || draws === undefined) continue;
    const fit = await fitOf(ports, grant.id, draws, context, signal);
    return fit === undefined ? decision : { ...decision, details: fit.details };
  }
  return decision;
}

export function useOf({ grant: { namespaceId, id: grantId }, maxUses = 0 }: CompiledGrant): GrantUse {
  return { namespaceId, grantId, maxUses };
}

function chooseOn(
  ports: Ports,
  { context, request, view, spends }: DecisionSubject,
  approver: ActApproval,
  signal: AbortSignal,
): Choice[] | Promise<Choice[]> {
  if (request === undefined) return [{ decision: deny("invalid_request") }];
  if (view === undefined) return [{ decision: deny("authority_unavailable") }];
  return choose({ ports, view, context, request, instant: instantOf(context), approver, spends, signal });
}

/** A decision that needs no port and no record is made at once. */
function decideAndRecord(
  ports: Ports,
  subject: DecisionSubject,
  spend: Spend,
  call: CallOptions & { signal: AbortSignal },
  approval?: ActApproval,
): Decision | Promise<Decision> {
  const { signal } = call;
  signal.throwIfAborted();
  const decided = decideOn(ports, subject, spend, signal, approval);
  return ports.audit === "none" ? decided : recordDecision(ports, subject, decided, call, approval);
}

async function recordDecision(
  ports: Ports,
  subject: DecisionSubject,
  decided: Decision | Promise<Decision>,
  call: CallOptions & { signal: AbortSignal },
  approval: ActApproval | undefined,
): Promise<Decision> {
  const decision = decided instanceof Promise ? await decided : decided;
  const said = (): AuditFacts => factsOf(subject, decision, approval);
  const reserved = decision.kind === "allow" ? decision.reserved : undefined;
  const recorded = await withRelease(ports, reserved, async () => {
    const isRecorded = await record(ports, subject.context, said, call.signal, call);
    return isRecorded ? decision : undefined;
  });
  return recorded ?? deny("audit_unavailable");
}

export function factsOf(
  { context, request, view, facts }: DecisionSubject,
  decision: Decision,
  approval: ActApproval | undefined,
): AuditFacts {
  const isAllowed = decision.kind === "allow";
  const all: AuditFacts = { type: "authorization.checked", outcome: isAllowed ? "allowed" : "denied", ...facts };
  if (request !== undefined) {
    all.resource = request.resource;
    all.action = request.action;
  }
  if (isAllowed) {
    all.grantId = decision.grant.grant.id;
    if (approval !== undefined && decision.permit !== undefined) all.metadata = approval.usedOf(decision.permit);
  } else {
    all.reason = decision.reason;
    if (request && view) all.metadata = denialMetadata(view, context, request, decision);
  }
  return all;
}

/** What is decided, and the grant whose use and amounts the act took already. */
interface DecisionAbout extends Pick<DecisionSubject, "context" | "request" | "view" | "spends"> {
  paid?: string;
}

/** The decision itself, unrecorded. */
export function decideOn(
  ports: Ports,
  { context, request, view, spends, paid }: DecisionAbout,
  spend: Spend,
  signal: AbortSignal,
  approver?: Approver,
): Decision | Promise<Decision> {
  if (request === undefined) return deny("invalid_request");
  if (view === undefined) return deny("authority_unavailable");
  return decide({ ports, view, context, request, instant: instantOf(context), spend, approver, spends, paid, signal });
}

/** The request as the kernel uses it; undefined when it does not fit, or names another owner than the context's. */
export function acceptRequest(
  context: DiscoveryContext,
  request: AuthorizationRequest,
): AuthorizationRequest | undefined {
  const accepted = accept(AuthorizationRequestSchema, request);
  return accepted.ok && namesContextOwner(accepted.value.resource, context) ? accepted.value : undefined;
}

/** A resource belongs to the context's owner, whether it says so or says nothing. */
export function namesContextOwner({ owner }: ResourceRef, context: DiscoveryContext): boolean {
  return owner === undefined || samePrincipal(owner, context.owner);
}
