import { randomBytes } from "node:crypto";
import {
  canonicalJson,
  principalKey,
  samePrincipal,
  type AccessContext,
  type Act,
  type AuthorizationRequest,
  type Escalation,
  type PrincipalRef,
  type RequestParty,
} from "turnpike/contracts";
import { requestHash, type ActToApprove } from "turnpike/kernel";
import { sha256 } from "../shared/index.ts";
import type { EscalationRecord } from "../admin-contract/index.ts";

/** An escalation that is about to wait; it gets its id when it does. */
export type NewEscalation = Omit<EscalationRecord, "id"> & {
  /** The credential that it is asked with. */
  credential?: string | undefined;
};

/** A request for authority that begins to wait. */
export function authorityEscalation(context: AccessContext, escalation: Escalation, lifetimeMs: number): NewEscalation {
  const { reason, reviewer, requestedAuthority, requestedAt } = escalation;
  const content = { ...originOf(context), reviewer, reason };
  const request = requestedAuthority && { requestedAuthority };
  return {
    ...content,
    ask: authorityHash({ ...content, ...request }),
    ...request,
    ...timesOf(requestedAt, lifetimeMs),
  };
}

/** A new escalation about one act. The owner of the act is its reviewer. */
export function actEscalation(
  context: AccessContext,
  { hash, act, request, grantId }: ActToApprove,
  lifetimeMs: number,
): NewEscalation {
  return {
    ...originOf(context),
    reviewer: context.owner,
    reason: reasonOf(act),
    ask: hash,
    approval: { act, request, grantId },
    ...timesOf(context.now, lifetimeMs),
  };
}

function originOf(context: AccessContext) {
  const {
    namespaceId,
    actor: requester,
    authority,
    purpose,
    traceId,
    executionId,
    triedBy,
    askedBy,
    credential,
  } = context;
  return {
    namespaceId,
    requester,
    authority,
    purpose,
    traceId,
    ...(executionId && { executionId }),
    ...(triedBy && { triedBy }),
    ...(askedBy && { askedBy }),
    ...(credential !== undefined && { credential }),
  };
}

type Parties = EscalationRecord["triedBy"];

/** Those who tried an act, or asked about it, one by one. */
function partiesOf(parties: Parties): readonly RequestParty[] {
  return parties === undefined ? [] : [parties].flat();
}

/** Every party to the request, besides the requester. */
export function takesPart({ triedBy, askedBy }: EscalationRecord, person: PrincipalRef): boolean {
  return [...partiesOf(triedBy), ...partiesOf(askedBy)].some(({ actor }) => samePrincipal(actor, person));
}

/** A request that waits, with the parties that join it; undefined when it names them already. */
export function withParties(record: EscalationRecord, joining: NewEscalation): EscalationRecord | undefined {
  const triedBy = joined(record.triedBy, joining.triedBy);
  const askedBy = joined(record.askedBy, joining.askedBy);
  if (triedBy === record.triedBy && askedBy === record.askedBy) return undefined;
  return { ...record, ...(triedBy && { triedBy }), ...(askedBy && { askedBy }) };
}

function joined(known: Parties, joining: Parties): Parties {
  const fresh = partiesOf(joining).filter(
    ({ actor, credential }) =>
      !partiesOf(known).some((one) => one.credential === credential && samePrincipal(one.actor, actor)),
  );
  if (fresh.length === 0) return known;
  const all = [...partiesOf(known), ...fresh];
  return all.length === 1 ? all[0] : all;
}

function timesOf(requestedAt: string, lifetimeMs: number) {
  const requested = Date.parse(requestedAt);
  return {
    status: "pending" as const,
    requestedAt: new Date(requested).toISOString(),
    expiresAt: new Date(requested + lifetimeMs).toISOString(),
  };
}

function reasonOf(act: Act): string {
  switch (act.kind) {
    case "tool":
      return `Approval is needed to call ${act.tool}.`;
    case "resource":
      return `Approval is needed to ${act.action} ${[act.resource.namespace, ...act.resource.path].join("/")}.`;
    case "message":
      return `Approval is needed to send a message to ${principalKey(act.receiver)}.`;
    case "turn":
      return `Approval is needed to start a turn of ${principalKey(act.agent)}.`;
    case "act":
      return `Approval is needed to carry out ${act.tool}.`;
  }
}

/**
 * Ids sort by age, those of one request whatever the clocks of hosts say: each comes after the last. The time in base 36
 * has eight digits until the year 2059.
 */
export function freshId(requestedAt: string, last: string | undefined): string {
  const lastTime = last === undefined ? -1 : Number.parseInt(last.slice(1, 9), 36);
  const at = Math.max(Date.parse(requestedAt), lastTime + 1);
  return `q${at.toString(36)}${randomBytes(4).toString("hex")}`;
}

/**
 * Permits for acts that need the same, by the same actor for the same owner, are found by this hash. A resource is the
 * owner's, whether a request says so or not.
 */
export function placeOf(
  { actor, authority, owner, purpose }: Pick<AccessContext, "actor" | "authority" | "owner" | "purpose">,
  { action, resource: { namespace, path } }: AuthorizationRequest,
): string {
  return sha256(canonicalJson({ actor, authority, owner, purpose, action, namespace, path }));
}

/** Whether an escalation still is what its hash says. */
export function isUnchanged(record: EscalationRecord): boolean {
  const { namespaceId, requester: actor, authority, reviewer: owner, purpose, approval } = record;
  return approval === undefined
    ? authorityHash(record) === record.ask
    : requestHash({ namespaceId, actor, authority, owner, purpose }, approval.act) === record.ask;
}

type HashedFields = Pick<
  EscalationRecord,
  "namespaceId" | "requester" | "reviewer" | "authority" | "purpose" | "reason"
> &
  Partial<Pick<EscalationRecord, "requestedAuthority">>;

/**
 * The hash of everything that an approval would grant. An escalation that requests no authority has the hash of its
 * reason instead.
 */
function authorityHash({
  namespaceId,
  requester,
  reviewer,
  authority,
  purpose,
  reason,
  requestedAuthority,
}: HashedFields): string {
  const { capabilities, constraints } = requestedAuthority ?? {};
  const wanted = capabilities === undefined ? { reason } : { capabilities, constraints };
  return sha256(canonicalJson({ namespaceId, requester, reviewer, authority, purpose, ...wanted }));
}
