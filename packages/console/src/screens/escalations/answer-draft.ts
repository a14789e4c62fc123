import type { EscalationRecord } from "turnpike-host/admin-contract";
import type { Grant } from "turnpike/contracts";
import { endOf, instantText, spanText } from "../../shared/instants.ts";
import { count } from "../../shared/words.ts";

/** An answer that the operator is writing. */
export interface AnswerDraft {
  expiry: "usual" | "10m" | "1h" | "8h" | "own";
  /** What a `datetime-local` field has: by the operator's clock. */
  ownExpiry: string;
  uses: "one" | "several" | "any";
  useCount: string;
  reason: string;
}

/** The terms of an approval, or why the draft has none. */
export type Terms = { ok: true; expiresAt?: string; maxUses?: number } | { ok: false; problem: string };

/** What the agent reads of a denial without a reason. */
export const noReason = "No reason was given.";

/** The narrowest answer: the requester gets no more than it is known to need. */
export const firstDraft: AnswerDraft = { expiry: "10m", ownExpiry: "", uses: "one", useCount: "5", reason: "" };

/** The terms that a draft represents. An approval of one act is for one use, and has a usual time that the host knows. */
export function termsOf(draft: AnswerDraft, escalation: EscalationRecord, now: number): Terms {
  const expiry = expiryOf(draft, now);
  if (!expiry.ok || escalation.approval !== undefined) return expiry;
  const asked = escalation.requestedAuthority?.constraints?.maxUses;
  if (draft.uses === "any") return expiry;
  const maxUses = draft.uses === "one" ? 1 : Number(draft.useCount);
  if (!Number.isSafeInteger(maxUses) || maxUses < 1)
    return { ok: false, problem: "Say how many uses: a whole number, 1 or more." };
  if (asked !== undefined && maxUses > asked)
    return { ok: false, problem: `At most ${count(asked, "use")} were requested.` };
  return { ...expiry, maxUses };
}

function expiryOf({ expiry, ownExpiry }: AnswerDraft, now: number): Terms {
  if (expiry === "usual") return { ok: true };
  const expiresAt = endOf(expiry === "own" ? ownExpiry : expiry, now);
  if (expiresAt === undefined || Date.parse(expiresAt) <= now)
    return { ok: false, problem: "Say a time that is still to come." };
  return { ok: true, expiresAt };
}

/** Until when and how often the approval will count, which is never more than was requested. */
export function termsText(
  terms: Extract<Terms, { ok: true }>,
  escalation: EscalationRecord,
  now: number,
): { until: string; uses: string } {
  if (escalation.approval !== undefined) {
    const until =
      terms.expiresAt === undefined ? "as long as this host usually allows" : untilText(terms.expiresAt, now);
    return { until, uses: "once" };
  }
  const { expiresAt: asked, maxUses: askedUses } = escalation.requestedAuthority?.constraints ?? {};
  const chosen = terms.expiresAt ?? new Date(now + 3_600_000).toISOString();
  const isAskedEarlier = asked !== undefined && Date.parse(asked) < Date.parse(chosen);
  const uses = terms.maxUses ?? askedUses;
  return {
    until: untilText(isAskedEarlier ? asked : chosen, now) + (isAskedEarlier ? ", as requested" : ""),
    uses: uses === undefined ? "as often as it likes" : uses === 1 ? "once" : `${uses} times`,
  };
}

function untilText(at: string, now: number): string {
  return `${instantText(at, new Date(now))} (in ${spanText(Date.parse(at) - now)})`;
}

/** The grant that an approval would issue now, to compare it with past decisions before anyone approves. */
export function approvedGrant(escalation: EscalationRecord): Grant {
  const { id, namespaceId, requester, authority, purpose, requestedAuthority, requestedAt } = escalation;
  const { capabilities = [], constraints, owner } = requestedAuthority ?? {};
  return {
    id: `approved-${id}`,
    namespaceId,
    subject: requester,
    issuer: authority,
    capabilities: capabilities.map((one) => ({ ...one, resource: { ...one.resource, ...(owner && { owner }) } })),
    constraints: { ...constraints, purposes: [purpose] },
    issuedAt: requestedAt,
  };
}
