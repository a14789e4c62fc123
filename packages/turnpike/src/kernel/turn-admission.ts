import type {
  AccessContext,
  Act,
  AgentRef,
  AuthorizationRequest,
  ErrorObject,
  JsonObject,
  MessageEnvelope,
  ReasonCode,
} from "../contracts/index.ts";
import type { CompiledGrant, Instant } from "./active.ts";
import { recordOutcome } from "./audit.ts";
import { compileAuthority, type Authority, type AuthorityView } from "./authority.ts";
import { acceptRequest, authorizeEffect, type Gate } from "./authorize.ts";
import { candidates, guardedCandidates, instantOf } from "./candidates.ts";
import { contextWith } from "./context.ts";
import type { EffectOptions } from "./effect.ts";
import { denialError } from "./kernel-error.ts";
import { accessNow, lostAdmission, type AdmissionRecord, type CallCheck } from "./call-check.ts";

/** What is known of the earlier runs of a turn that is resumed. */
export interface EarlierRun {
  /**
   * What the turn was admitted with. It is resumed with what is still valid of that, and takes no second use. Undefined for a turn
   * whose process ended during its admission, after its use was taken.
   */
  admission: AdmissionRecord | undefined;
  /** When the turn began, and its enabled tool namespaces then. They bound a turn that has no `admission`. */
  began?: Pick<AdmissionRecord, "at" | "namespaces"> | undefined;
  /** Whether its escalation was answered. It may then do whatever a new turn may do. */
  isAnswered: boolean;
  /** Whether one of its calls may have had an effect that cannot safely be had twice. */
  mayHaveTakenEffect: boolean;
}

/** Why a turn may not run. */
export interface TurnRefusal {
  kind: "refused";
  reason: Exclude<ReasonCode, "allowed"> | "credential_revoked";
  /** The error for the caller, if it says more than the reason. */
  error?: ErrorObject;
}

/** The agent to run, and the message that it is to run for. */
export interface TurnSubject {
  agent: AgentRef;
  /** Without it the turn cannot be approved. */
  message?: Pick<MessageEnvelope, "sender" | "payload" | "replyTo" | "provenance"> | undefined;
  /** The other parts of the request that its runtime gets. */
  state?: JsonObject | undefined;
  metadata?: JsonObject | undefined;
}

/** The grants with which a turn runs, or why it may not run. */
export type AdmissionResult =
  | {
      kind: "admitted";
      context: AccessContext;
      /** The grants that count for the turn. */
      view: AuthorityView;
      request: AuthorizationRequest;
      grant: CompiledGrant;
      /** The instant of the admission, from which on these grants count. */
      since: Instant;
      at: string;
    }
  | TurnRefusal;

/** Decides about a new turn, and takes a use of the grant that carries it. */
export async function admit(
  gate: Gate,
  context: AccessContext,
  turn: TurnSubject,
  options: EffectOptions,
): Promise<AdmissionResult> {
  const view = await gate.view(context, options.signal);
  const request = acceptRequest(context, toRun(turn.agent));
  const decision = await authorizeEffect(gate.ports, { context, request, view, act: actOf(turn) }, options);
  if (decision.kind === "deny")
    return { ...refused(decision.reason), ...(decision.details && { error: denialError(decision) }) };
  if (request === undefined || view === undefined) return refused("authority_unavailable");
  return {
    kind: "admitted",
    context,
    view,
    request,
    grant: decision.grant,
    since: instantOf(context),
    at: context.now,
  };
}

/** The act that a person approves. It has everything that the agent is told, so that an approval covers nothing else. */
function actOf({ agent, message, state, metadata }: TurnSubject): (() => Act) | undefined {
  if (message === undefined) return undefined;
  const { sender, payload, replyTo, provenance } = message;
  return () => ({ kind: "turn", agent, sender, payload, replyTo, provenance, state, metadata });
}

/** Checks whether a turn may be resumed: with what it was admitted with, or, after an answer, like a new turn. */
export async function resume(
  gate: Gate,
  context: AccessContext,
  turn: TurnSubject,
  { admission, began, isAnswered }: EarlierRun,
  options: EffectOptions,
): Promise<AdmissionResult> {
  const { ports } = gate;
  const { signal } = options;
  const bounds = isAnswered ? undefined : (admission ?? began);
  const access = await accessNow(ports, bounds ? contextWithin(context, bounds) : context, signal);
  if (access.kind === "revoked") return refused("credential_revoked");
  if (access.kind === "unavailable") return refused("authority_unavailable");
  const request = acceptRequest(access.context, toRun(turn.agent));
  const fresh = await gate.view(access.context, signal);
  if (request === undefined || fresh === undefined) return refused("authority_unavailable");
  const instant = instantOf(access.context);
  const since = bounds ? instantOf({ ...access.context, now: bounds.at }) : instant;
  const at = bounds?.at ?? access.context.now;
  const view = bounds ? { current: within(fresh.current, since, admission) } : fresh;
  const { current } = view;
  // The grant that admitted the turn counts even if it needs an approval, because the turn got that. If the grant is unknown, no
  // grant that needs an approval counts.
  const mayCarry =
    admission === undefined
      ? candidates(view, request, instant)
      : [...candidates(view, request, instant), ...guardedCandidates(view, request, instant)].filter(
          ({ grant }) => grant.id === admission.grantId,
        );
  let lost: CallCheck | undefined = gone;
  for (const grant of mayCarry) {
    const basis = { request, grant, admitted: { authority: current, instant, excluded: new Set<CompiledGrant>() } };
    lost = await lostAdmission(ports, basis, view, access.context, signal);
    if (lost !== undefined) continue;
    return { kind: "admitted", context: access.context, request, grant, view, since, at };
  }
  if (isAnswered) return admit(gate, access.context, turn, options);
  const { reason, metadata } = lost as CallCheck & { kind: "blocked" };
  const facts = { type: "authorization.checked", outcome: "denied", ...request, reason, metadata } as const;
  await recordOutcome(ports, access.context, () => facts, signal, options);
  return refused(reason);
}

/** The grant that admitted the turn does not exist any more. */
const gone: CallCheck = {
  kind: "blocked",
  reason: "no_matching_grant",
  metadata: { admission: { failed: "missing" } },
};

/** The context with only those enabled tool namespaces that were enabled at the admission too. */
function contextWithin(context: AccessContext, { namespaces }: Pick<AdmissionRecord, "namespaces">): AccessContext {
  const before = new Set(namespaces);
  const left = context.enabledToolNamespaces.filter((name) => before.has(name));
  return contextWith(context, Object.freeze(left) as string[]);
}

/**
 * The present grants that counted at the admission, with the one that admitted the turn. If it is unknown which counted, the
 * present grants that were issued by then.
 */
function within({ grants }: Authority, since: Instant, admission: AdmissionRecord | undefined): Authority {
  const before = admission && new Set([...admission.grants, admission.grantId]);
  const counted = grants.filter((one) => before?.has(one.grant.id) ?? one.window.issuedAt <= since.now);
  return compileAuthority(Object.freeze(counted.map(({ grant }) => grant)));
}

function toRun({ agentId }: AgentRef): AuthorizationRequest {
  return { action: "invoke", resource: { namespace: "service.execution", path: ["agent", agentId] } };
}

export function refused(reason: TurnRefusal["reason"]): TurnRefusal {
  return { kind: "refused", reason };
}
