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
import type { CompiledGrant, Moment } from "./active.ts";
import { recordOutcome } from "./audit.ts";
import { compileAuthority, type Authority, type AuthorityView } from "./authority.ts";
import { acceptRequest, authorizeEffect, type Gate } from "./authorize.ts";
import { candidates, guardedCandidates, momentOf } from "./candidates.ts";
import { contextWith } from "./context.ts";
import type { EffectOptions } from "./effect.ts";
import { denialError } from "./kernel-error.ts";
import { accessNow, lostAdmission, type AdmissionRecord, type Entry } from "./turn-entry.ts";

/** What a turn did before, which goes on now. */
export interface EarlierRun {
  /**
   * What it was admitted with. It goes on within that, as far as it still stands, and takes no second use. Undefined for a
   * turn that ended in the middle of its admission, with its use taken.
   */
  admission: AdmissionRecord | undefined;
  /** When it began, and with which tool namespaces on: what bounds one that ended in the middle of its admission. */
  began?: Pick<AdmissionRecord, "at" | "namespaces"> | undefined;
  /** Somebody answered its question: it may do from here on what a new turn might. */
  isAnswered: boolean;
  /** Whether one of its calls may have had an effect that cannot safely be had twice. */
  mayHaveTakenEffect: boolean;
}

/** Why a turn may not run. */
export interface TurnRefusal {
  kind: "refused";
  reason: Exclude<ReasonCode, "allowed"> | "credential_revoked";
  /** What its caller is told, where that is more than the reason. */
  error?: ErrorObject;
}

/** The agent to run, and the message that it is to run for. */
export interface TurnSubject {
  agent: AgentRef;
  /** Without it nobody can say yes to the turn. */
  message?: Pick<MessageEnvelope, "sender" | "payload" | "replyTo" | "provenance"> | undefined;
  /** What else its runtime is handed. */
  state?: JsonObject | undefined;
  metadata?: JsonObject | undefined;
}

/** On what a turn runs, or why it does not. */
export type Way =
  | {
      kind: "in";
      context: AccessContext;
      /** The grants that count for the turn. */
      view: AuthorityView;
      request: AuthorizationRequest;
      grant: CompiledGrant;
      /** The moment from which on these grants count for it. */
      since: Moment;
      at: string;
    }
  | TurnRefusal;

/** Decides about a new turn, and takes a use of the grant that carries it. */
export async function letIn(
  gate: Gate,
  context: AccessContext,
  turn: TurnSubject,
  options: EffectOptions,
): Promise<Way> {
  const view = await gate.view(context, options.signal);
  const request = acceptRequest(context, toRun(turn.agent));
  const decision = await authorizeEffect(gate.ports, { context, request, view, act: actOf(turn) }, options);
  if (decision.kind === "deny")
    return { ...refused(decision.reason), ...(decision.details && { error: denialError(decision) }) };
  if (request === undefined || view === undefined) return refused("authority_unavailable");
  return { kind: "in", context, view, request, grant: decision.grant, since: momentOf(context), at: context.now };
}

/** All that the agent is told: a yes to a turn is to nothing else. */
function actOf({ agent, message, state, metadata }: TurnSubject): (() => Act) | undefined {
  if (message === undefined) return undefined;
  const { sender, payload, replyTo, provenance } = message;
  return () => ({ kind: "turn", agent, sender, payload, replyTo, provenance, state, metadata });
}

/** Looks whether a turn may go on: within what it was admitted with, or, after an answer, as a new one might. */
export async function letGoOn(
  gate: Gate,
  context: AccessContext,
  turn: TurnSubject,
  { admission, began, isAnswered }: EarlierRun,
  options: EffectOptions,
): Promise<Way> {
  const { ports } = gate;
  const { signal } = options;
  const bounds = isAnswered ? undefined : (admission ?? began);
  const access = await accessNow(ports, bounds ? contextWithin(context, bounds) : context, signal);
  if (access.kind === "revoked") return refused("credential_revoked");
  if (access.kind === "unavailable") return refused("authority_unavailable");
  const request = acceptRequest(access.context, toRun(turn.agent));
  const fresh = await gate.view(access.context, signal);
  if (request === undefined || fresh === undefined) return refused("authority_unavailable");
  const moment = momentOf(access.context);
  const since = bounds ? momentOf({ ...access.context, now: bounds.at }) : moment;
  const at = bounds?.at ?? access.context.now;
  const view = bounds ? { current: within(fresh.current, since, admission) } : fresh;
  const { current } = view;
  // The grant that admitted it may have needed a yes, which it got; where nobody knows which one that was, none counts that does.
  const mayCarry =
    admission === undefined
      ? candidates(view, request, moment)
      : [...candidates(view, request, moment), ...guardedCandidates(view, request, moment)].filter(
          ({ grant }) => grant.id === admission.grantId,
        );
  let lost: Entry | undefined = gone;
  for (const grant of mayCarry) {
    const basis = { request, grant, admitted: { authority: current, moment, excluded: new Set<CompiledGrant>() } };
    lost = await lostAdmission(ports, basis, view, access.context, signal);
    if (lost !== undefined) continue;
    return { kind: "in", context: access.context, request, grant, view, since, at };
  }
  if (isAnswered) return letIn(gate, access.context, turn, options);
  const { reason, metadata } = lost as Entry & { kind: "shut" };
  const facts = { type: "authorization.checked", outcome: "denied", ...request, reason, metadata } as const;
  await recordOutcome(ports, access.context, () => facts, signal, options);
  return refused(reason);
}

/** The grant that admitted the turn is not there any more. */
const gone: Entry = { kind: "shut", reason: "no_matching_grant", metadata: { admission: { failed: "missing" } } };

/** Of the tool namespaces that are on, those that were on when the turn was admitted. */
function contextWithin(context: AccessContext, { namespaces }: Pick<AdmissionRecord, "namespaces">): AccessContext {
  const before = new Set(namespaces);
  const left = context.enabledToolNamespaces.filter((name) => before.has(name));
  return contextWith(context, Object.freeze(left) as string[]);
}

/**
 * Of the grants there are now, those that counted when the turn was admitted, and the one that admitted it. Where nobody
 * knows which counted, those that were issued by then.
 */
function within({ grants }: Authority, since: Moment, admission: AdmissionRecord | undefined): Authority {
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
