import { type AccessContext, type AuthorizationRequest, type JsonObject, type ReasonCode } from "../contracts/index.ts";
import { withinTime } from "../internal/index.ts";
import { inactivity, type CompiledGrant, type Instant } from "./active.ts";
import type { AdmittedAuthority, Authority, AuthorityView } from "./authority.ts";
import type { Gate } from "./authorize.ts";
import { callPort, type Ports } from "./call-port.ts";
import { candidates, guardedCandidates, isLive, instantOf } from "./candidates.ts";
import { walkChain } from "./chain.ts";
import { contextWith } from "./context.ts";
import { chainRefusal } from "./decide.ts";
import type { Condition } from "./diagnose.ts";
import { nearestMismatch } from "./match.ts";

const guardTimeoutMs = 5_000;

/** The decision that admitted a turn. */
export interface TurnBasis {
  /** The act of running the agent, and the grant that carried it. */
  request: AuthorizationRequest;
  grant: CompiledGrant;
  admitted: AdmittedAuthority;
}

/** What is needed to decide about one call of a turn, or why the call is blocked, with details for the audit log. */
export type CallCheck =
  | { kind: "allowed"; context: AccessContext; view: AuthorityView | undefined }
  | { kind: "blocked"; reason: BlockedReason; metadata: JsonObject };

/** Why every call of a turn is blocked. */
export type BlockedReason = Exclude<ReasonCode, "allowed"> | "credential_revoked";

/** @deprecated Use `BlockedReason`. */
export type ShutReason = BlockedReason;

/** The access was revoked, which is final for this turn. */
export const revoked: CallCheck = { kind: "blocked", reason: "credential_revoked", metadata: { access: "revoked" } };

/** What a turn was admitted with, stored with the turn. A resumed turn gets no other grants and tool namespaces. */
export interface AdmissionRecord extends JsonObject {
  /** The instant of the admission. */
  at: string;
  /** The grant that carried the running of the agent. */
  grantId: string;
  /** Every grant that counted then. */
  grants: string[];
  namespaces: string[];
  /** The names of the tools that it was offered. Absent in what versions before this wrote. */
  tools?: string[];
}

/** Checks before each call of a turn whether the access and the grant that admitted the turn are still active. */
export async function checkCall(
  gate: Gate,
  basis: TurnBasis,
  context: AccessContext,
  signal: AbortSignal,
): Promise<CallCheck> {
  const isGuarded = gate.ports.access !== undefined;
  const access: Access = isGuarded ? await accessNow(gate.ports, context, signal) : { kind: "active", context };
  if (access.kind === "revoked") return revoked;
  if (access.kind === "unavailable")
    return { kind: "blocked", reason: "authority_unavailable", metadata: { access: "unavailable" } };
  const loading = gate.view(access.context, signal);
  const fresh = loading instanceof Promise ? await loading : loading;
  const view = fresh && { current: fresh.current, admitted: basis.admitted };
  const checked = view && lostAdmission(gate.ports, basis, view, access.context, signal);
  const lost = checked instanceof Promise ? await checked : checked;
  return lost ?? { kind: "allowed", context: access.context, view };
}

/** The state of an access. The context of an active one has only the tool namespaces that are still enabled. */
type Access = { kind: "active"; context: AccessContext } | { kind: "revoked" } | { kind: "unavailable" };

/** Asks the host whether the access is still active. Fails closed: any other answer makes it unavailable. */
export async function accessNow(ports: Ports, context: AccessContext, signal: AbortSignal): Promise<Access> {
  const { access: guard } = ports;
  if (guard === undefined) return { kind: "active", context };
  const limit = { timeoutMs: guardTimeoutMs, late: `No answer within ${guardTimeoutMs} ms.` };
  const check = (): Promise<unknown> => withinTime(limit, signal, (limited) => guard.check(context, limited.get()));
  const answer = await callPort(ports, { port: "access" }, signal, check, (said) => readAccess(said, context));
  return answer.ok ? answer.value : { kind: "unavailable" };
}

type AnswerField = "isActive" | "stands" | "enabledToolNamespaces";

/** Reads the guard's answer. A tool namespace that was enabled since the admission stays disabled in this turn. */
function readAccess(answer: unknown, context: AccessContext): Access {
  const { isActive, stands, enabledToolNamespaces: on } = answer as { [Name in AnswerField]?: unknown };
  if (isActive === false || stands === false) return { kind: "revoked" };
  const isSaid = isActive === true || stands === true;
  if (!isSaid || !Array.isArray(on) || !on.every((name) => typeof name === "string"))
    throw new TypeError("The access guard gave no usable answer.");
  const now = new Set(on);
  const left = context.enabledToolNamespaces.filter((name) => now.has(name));
  if (left.length === context.enabledToolNamespaces.length) return { kind: "active", context };
  return { kind: "active", context: contextWith(context, Object.freeze(left) as string[]) };
}

/** No grant is excluded, because the admission may have taken the last use of its grant, which stays valid for the turn. */
const nothing: ReadonlySet<CompiledGrant> = new Set();

/** Why the grant that admitted the turn is no longer valid; undefined when it is. Takes no use, and counts none. */
export function lostAdmission(
  ports: Ports,
  basis: TurnBasis,
  { current }: AuthorityView,
  context: AccessContext,
  signal: AbortSignal,
): CallCheck | undefined | Promise<CallCheck | undefined> {
  const { grant } = basis.grant;
  const instant = instantOf(context);
  const active = stillAdmitting(basis, current, instant);
  if (active === undefined) {
    const found = current.grants.find((one) => one.grant.id === grant.id);
    return blockedFor(basis, "no_matching_grant", {
      failed: found ? whatFailed(found, basis.request, instant) : "missing",
    });
  }
  return grant.parentId === undefined ? undefined : brokenChain(ports, basis, active, instant, signal);
}

/** The grant that admitted the turn, as it is now; undefined when it is no longer live or no longer covers the running of the agent. */
function stillAdmitting(
  { request, grant, admitted }: TurnBasis,
  current: Authority,
  instant: Instant,
): CompiledGrant | undefined {
  if (current === admitted.authority) return isLive(grant, instant) ? grant : undefined;
  const view = { current, admitted: { ...admitted, excluded: nothing } };
  // Includes grants that need approval: an approved admission needs no second approval.
  const carrying = [...candidates(view, request, instant), ...guardedCandidates(view, request, instant)];
  return carrying.find((one) => one.grant.id === grant.grant.id);
}

function whatFailed(found: CompiledGrant, request: AuthorizationRequest, { now, purpose, owner }: Instant): Condition {
  return inactivity(found, now, purpose) ?? nearestMismatch(found.grant.capabilities, request, owner) ?? "not-admitted";
}

async function brokenChain(
  ports: Ports,
  basis: TurnBasis,
  active: CompiledGrant,
  instant: Instant,
  signal: AbortSignal,
): Promise<CallCheck | undefined> {
  const chain = await walkChain(ports, active, instant, signal);
  const refusal = chainRefusal(chain);
  return (
    refusal && blockedFor(basis, refusal, { failed: refusal, ...(chain.kind === "invalid" && { rule: chain.rule }) })
  );
}

function blockedFor({ grant: { grant } }: TurnBasis, reason: BlockedReason, why: JsonObject): CallCheck {
  return { kind: "blocked", reason, metadata: { admission: { grantId: grant.id, ...why } } };
}
