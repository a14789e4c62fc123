import type { EscalationRecord } from "../admin-contract/index.ts";
import { parseInstant, type Grant } from "turnpike/contracts";

/** The terms of a grant that an approval issues. */
export interface GrantTerms {
  at: string;
  expiresAt: string;
  maxUses?: number | undefined;
}

/** The grant, or the problem why there can be none. */
export type ApprovedGrant = { ok: true; grant: Grant } | { ok: false; problem: string };

/** The grant of exactly the requested authority, for the purpose of the turn, never longer or more often than requested. */
export function approvedGrant(escalation: EscalationRecord, terms: GrantTerms): ApprovedGrant {
  const { id, namespaceId, requester, authority, purpose, requestedAuthority } = escalation;
  if (requestedAuthority === undefined)
    return refuse("this escalation requests no authority: deny it with an answer, or issue a grant by hand");
  const { owner, capabilities, constraints = {} } = requestedAuthority;
  if (constraints.purposes?.includes(purpose) === false)
    return refuse("it was requested for other purposes than its turn had");
  const expiresAt = earlier(constraints.expiresAt, terms.expiresAt);
  if (!isLater(expiresAt, terms.at)) return refuse("it would have expired already");
  if (constraints.notBefore !== undefined && !isLater(expiresAt, constraints.notBefore))
    return refuse("it would expire before it begins");
  const { maxUses = constraints.maxUses } = terms;
  if (maxUses !== undefined && maxUses > (constraints.maxUses ?? Infinity))
    return refuse(`at most ${String(constraints.maxUses)} uses were requested`);
  const narrowed = { ...constraints, purposes: [purpose], expiresAt, ...(maxUses !== undefined && { maxUses }) };
  return {
    ok: true,
    grant: {
      id: `approved-${id}`,
      namespaceId,
      subject: requester,
      issuer: authority,
      // A capability without an owner would hold for every owner that the agent may act for.
      capabilities: capabilities.map((capability) => ({ ...capability, resource: { ...capability.resource, owner } })),
      constraints: narrowed,
      issuedAt: terms.at,
      metadata: { escalation: id },
    },
  };
}

function refuse(problem: string): ApprovedGrant {
  return { ok: false, problem };
}

export function earlier(one: string | undefined, other: string): string {
  return one !== undefined && isLater(other, one) ? one : other;
}

export function isLater(one: string, other: string): boolean {
  return (parseInstant(one) ?? 0) > (parseInstant(other) ?? 0);
}
