import {
  AuthorizationRequestSchema,
  samePrincipal,
  type AccessContext,
  type AuthorizationDecision,
  type AuthorizationRequest,
  type DiscoveryContext,
  type ResourceRef,
} from "../contracts/index.ts";
import { accept } from "../internal/index.ts";
import { record, type AuditFacts } from "./audit.ts";
import { acceptContext } from "./context.ts";
import type { Ports } from "./call-port.ts";
import type { AuthorityView } from "./authority.ts";
import { momentOf } from "./candidates.ts";
import { consume, decide, deny, peek, type Decision, type Spend } from "./decide.ts";
import { denialMetadata } from "./diagnose.ts";
import { requiredAuthority } from "./required-authority.ts";

/** Where decisions are made: the ports, and the grants that count here and now. */
export interface Gate {
  ports: Ports;
  /** The grants the context may exercise; undefined when they cannot be established. */
  view(context: DiscoveryContext, signal: AbortSignal): Promise<AuthorityView | undefined>;
}

/** What an operation adds to the audit event of its decision. */
export type DecisionFacts = Pick<AuditFacts, "tool" | "operationId" | "messageId" | "receiver">;

/** The operation `authorize`: decides without consuming, and says what would have to be granted. */
export async function authorize(
  gate: Gate,
  context: AccessContext,
  request: AuthorizationRequest,
  signal: AbortSignal,
): Promise<AuthorizationDecision> {
  signal.throwIfAborted();
  const trusted = acceptContext(context);
  if (trusted === undefined) return { allowed: false, reasonCode: "invalid_context" };
  const accepted = acceptRequest(trusted, request);
  const decision = await decideAndRecord(gate, trusted, accepted, peek, {}, signal);
  if (decision.kind === "allow") {
    return { allowed: true, reasonCode: "allowed", matchedGrantId: decision.grant.grant.id };
  }
  const { reason, metadata } = decision;
  const required = reason === "no_matching_grant" && accepted ? requiredAuthority(trusted, accepted) : undefined;
  return {
    allowed: false,
    reasonCode: reason,
    ...(metadata && { metadata }),
    ...(required && { requiredAuthority: required }),
  };
}

/**
 * Decides for an execution: a bounded grant loses one use, and the decision is on the trail before anything happens.
 * The request is an accepted one, or undefined when what was asked cannot be one.
 */
export function authorizeEffect(
  gate: Gate,
  context: AccessContext,
  request: AuthorizationRequest | undefined,
  facts: DecisionFacts,
  signal: AbortSignal,
): Promise<Decision> {
  return decideAndRecord(gate, context, request, consume, facts, signal);
}

async function decideAndRecord(
  gate: Gate,
  context: AccessContext,
  request: AuthorizationRequest | undefined,
  spend: Spend,
  facts: DecisionFacts,
  signal: AbortSignal,
): Promise<Decision> {
  signal.throwIfAborted();
  const view = request && (await gate.view(context, signal));
  const decided = decideOn(gate.ports, context, request, view, spend, signal);
  const decision = decided instanceof Promise ? await decided : decided;
  if (gate.ports.audit === "none") {
    signal.throwIfAborted();
    return decision;
  }
  const toRecord = (): AuditFacts => ({
    type: "authorization.checked",
    outcome: decision.kind === "allow" ? "allowed" : "denied",
    ...facts,
    ...request,
    ...(decision.kind === "allow"
      ? { grantId: decision.grant.grant.id }
      : {
          reason: decision.reason,
          ...(request && view && { metadata: denialMetadata(view, context, request, decision) }),
        }),
  });
  const recorded = await record(gate.ports, context, toRecord, signal);
  return recorded ? decision : deny("audit_unavailable");
}

/** The decision itself, unrecorded. */
export function decideOn(
  ports: Ports,
  context: AccessContext,
  request: AuthorizationRequest | undefined,
  view: AuthorityView | undefined,
  spend: Spend,
  signal: AbortSignal,
): Decision | Promise<Decision> {
  if (request === undefined) return deny("invalid_request");
  if (view === undefined) return deny("authority_unavailable");
  return decide({ ports, view, context, request, moment: momentOf(context), spend, signal });
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
