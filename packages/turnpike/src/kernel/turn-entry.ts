import { type AccessContext, type AuthorizationRequest, type JsonObject, type ReasonCode } from "../contracts/index.ts";
import { withinTime } from "../internal/index.ts";
import { inactivity, type CompiledGrant, type Moment } from "./active.ts";
import type { AdmittedAuthority, Authority, AuthorityView } from "./authority.ts";
import type { Gate } from "./authorize.ts";
import { callPort, type Ports } from "./call-port.ts";
import { candidates, guardedCandidates, isLive, momentOf } from "./candidates.ts";
import { walkChain } from "./chain.ts";
import { contextWith } from "./context.ts";
import { chainRefusal } from "./decide.ts";
import type { Condition } from "./diagnose.ts";
import { nearestMismatch } from "./match.ts";

const guardTimeoutMs = 5_000;

/** What a turn was admitted on. */
export interface TurnBasis {
  /** The act of running the agent, and the grant that carried it. */
  request: AuthorizationRequest;
  grant: CompiledGrant;
  admitted: AdmittedAuthority;
}

/** What one call of a turn may rest on, or why it may not be made and what the operator may know of that. */
export type Entry =
  | { kind: "open"; context: AccessContext; view: AuthorityView | undefined }
  | { kind: "shut"; reason: ShutReason; metadata: JsonObject };

/** Why a call of a turn may not be made, whatever it asks for. */
export type ShutReason = Exclude<ReasonCode, "allowed"> | "credential_revoked";

/** The access is gone, and does not come back in this turn. */
export const revoked: Entry = { kind: "shut", reason: "credential_revoked", metadata: { access: "revoked" } };

/** What a turn was admitted with, to be kept with it: it goes on within these grants and tool namespaces, and no others. */
export interface AdmissionRecord extends JsonObject {
  /** When that was. */
  at: string;
  /** The grant that carried the running of the agent. */
  grantId: string;
  /** Every grant that counted then. */
  grants: string[];
  namespaces: string[];
  /** The names of the tools that it was offered. Absent in what versions before this wrote. */
  tools?: string[];
}

/** Looks before each call of a turn whether the access and the grant that admitted the turn still stand. */
export async function enter(gate: Gate, basis: TurnBasis, context: AccessContext, signal: AbortSignal): Promise<Entry> {
  const isGuarded = gate.ports.access !== undefined;
  const access: Access = isGuarded ? await accessNow(gate.ports, context, signal) : { kind: "stands", context };
  if (access.kind === "revoked") return revoked;
  if (access.kind === "unavailable")
    return { kind: "shut", reason: "authority_unavailable", metadata: { access: "unavailable" } };
  const loading = gate.view(access.context, signal);
  const fresh = loading instanceof Promise ? await loading : loading;
  const view = fresh && { current: fresh.current, admitted: basis.admitted };
  const looked = view && lostAdmission(gate.ports, basis, view, access.context, signal);
  const lost = looked instanceof Promise ? await looked : looked;
  return lost ?? { kind: "open", context: access.context, view };
}

/** What is left of an access, in the context that is left of it. */
type Access = { kind: "stands"; context: AccessContext } | { kind: "revoked" } | { kind: "unavailable" };

/** Asks the host whether the access still stands. A guard that cannot say so takes nothing for granted. */
export async function accessNow(ports: Ports, context: AccessContext, signal: AbortSignal): Promise<Access> {
  const { access: guard } = ports;
  if (guard === undefined) return { kind: "stands", context };
  const limit = { timeoutMs: guardTimeoutMs, late: `No answer within ${guardTimeoutMs} ms.` };
  const check = (): Promise<unknown> => withinTime(limit, signal, (limited) => guard.check(context, limited.get()));
  const answer = await callPort(ports, { port: "access" }, signal, check, (said) => readAccess(said, context));
  return answer.ok ? answer.value : { kind: "unavailable" };
}

/** Only what was admitted and is on now is left: a namespace that was switched on since stays off. */
function readAccess(answer: unknown, context: AccessContext): Access {
  const { stands, enabledToolNamespaces: on } = answer as { stands?: unknown; enabledToolNamespaces?: unknown };
  if (stands === false) return { kind: "revoked" };
  if (stands !== true || !Array.isArray(on) || !on.every((name) => typeof name === "string"))
    throw new TypeError("The access guard gave no usable answer.");
  const now = new Set(on);
  const left = context.enabledToolNamespaces.filter((name) => now.has(name));
  if (left.length === context.enabledToolNamespaces.length) return { kind: "stands", context };
  return { kind: "stands", context: contextWith(context, Object.freeze(left) as string[]) };
}

/** Nothing was excluded: the admission itself may have taken the last use of its grant, which stands all the same. */
const nothing: ReadonlySet<CompiledGrant> = new Set();

/** Why the grant that admitted the turn does not stand any more; undefined when it does. Takes no use, and counts none. */
export function lostAdmission(
  ports: Ports,
  basis: TurnBasis,
  { current }: AuthorityView,
  context: AccessContext,
  signal: AbortSignal,
): Entry | undefined | Promise<Entry | undefined> {
  const { grant } = basis.grant;
  const moment = momentOf(context);
  const standing = stillAdmitting(basis, current, moment);
  if (standing === undefined) {
    const found = current.grants.find((one) => one.grant.id === grant.id);
    return shutFor(basis, "no_matching_grant", {
      failed: found ? whatFailed(found, basis.request, moment) : "missing",
    });
  }
  return grant.parentId === undefined ? undefined : brokenChain(ports, basis, standing, moment, signal);
}

/** The grant as it is now, if it is live and covers the running of the agent, then and now. */
function stillAdmitting(
  { request, grant, admitted }: TurnBasis,
  current: Authority,
  moment: Moment,
): CompiledGrant | undefined {
  if (current === admitted.authority) return isLive(grant, moment) ? grant : undefined;
  const view = { current, admitted: { ...admitted, excluded: nothing } };
  // Of an admission that somebody said yes to, too: it needs no second one.
  const carrying = [...candidates(view, request, moment), ...guardedCandidates(view, request, moment)];
  return carrying.find((one) => one.grant.id === grant.grant.id);
}

function whatFailed(found: CompiledGrant, request: AuthorizationRequest, { now, purpose, owner }: Moment): Condition {
  return inactivity(found, now, purpose) ?? nearestMismatch(found.grant.capabilities, request, owner) ?? "not-admitted";
}

async function brokenChain(
  ports: Ports,
  basis: TurnBasis,
  standing: CompiledGrant,
  moment: Moment,
  signal: AbortSignal,
): Promise<Entry | undefined> {
  const chain = await walkChain(ports, standing, moment, signal);
  const refusal = chainRefusal(chain);
  return refusal && shutFor(basis, refusal, { failed: refusal, ...(chain.kind === "invalid" && { rule: chain.rule }) });
}

function shutFor({ grant: { grant } }: TurnBasis, reason: ShutReason, why: JsonObject): Entry {
  return { kind: "shut", reason, metadata: { admission: { grantId: grant.id, ...why } } };
}
