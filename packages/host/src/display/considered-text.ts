import type { Grant, PrincipalRef, ResourceRef } from "turnpike/contracts";
import type { Refusal } from "turnpike/kernel";
import { capabilityText, constraintsText, grantText } from "./grant-text.ts";
import { listText } from "./list-text.ts";
import { nameText, whereText, whoText } from "./names.ts";

/** Why a grant that covers an act does not carry it, for an operator who never saw the code. */
const refusals: Readonly<Record<Refusal | "not-admitted", string>> = {
  "not-admitted": "It was not there when the turn began, and a turn never gains what came later",
  delegation_chain_invalid: "Something above it no longer holds",
  delegation_chain_unverified: "The grants above it could not be read",
  host_policy_denied: "The policy of this host says no",
  host_policy_unavailable: "The policy of this host gave no answer",
  grant_exhausted: "It has been used as often as it may be",
  usage_store_unavailable: "Its uses could not be read",
  budget_store_unavailable: "Its budget could not be read",
  budget_exhausted: "Its budget has too little left",
  budget_unit: "Its budget has other units",
  amount_required: "The act names no cost",
  approval_required: "A person has to approve exactly this act",
  approval_denied: "A person denied this act",
  approval_expired: "This act was not approved in time",
  permit_store_unavailable: "What people said about this act could not be read",
};

/** Why a grant that covers an act does not carry it, in a sentence; undefined for a code that says something else. */
export function refusalText(code: string): string | undefined {
  return isRefusal(code) ? `${refusals[code]}.` : undefined;
}

function isRefusal(code: string): code is keyof typeof refusals {
  return Object.hasOwn(refusals, code);
}

/** A grant that a decision looked at, and the first condition that it failed. */
interface Considered {
  grant: Grant;
  failed?: string | undefined;
  /** The rule of delegation that its chain breaks. */
  rule?: string | undefined;
}

/** The decision, and the act that it was about. */
interface Explained {
  decision: { matchedGrantId?: string | undefined };
  access: { owner: PrincipalRef; purpose: string };
  request?: Request | undefined;
}

interface Request {
  action: string;
  resource: ResourceRef;
}

/** What a decision found about a grant, in a sentence: why it did not carry the act. `instant` writes a time. */
export function consideredText(
  { grant, failed, rule }: Considered,
  { decision, access, request }: Explained,
  instant = (at: string): string => at,
): string {
  const { id, issuedAt, revokedAt, constraints } = grant;
  const { purposes = [], notBefore = issuedAt, expiresAt = issuedAt } = constraints;
  switch (failed) {
    case undefined:
      return id === decision.matchedGrantId ? "It allows this." : "It was not needed.";
    case "not-issued":
      return `It is issued only at ${instant(issuedAt)}.`;
    case "not-yet-valid":
      return `It begins only at ${instant(notBefore)}.`;
    case "expired":
      return `It ended at ${instant(expiresAt)}.`;
    case "revoked":
      return `It was revoked${revokedAt === undefined ? "" : ` at ${instant(revokedAt)}`}.`;
    case "purpose":
      return `It is for ${listText(distinct(purposes), "or")} alone, not for ${nameText(access.purpose)}.`;
    default:
      return (
        mismatchText(failed, grant, request, access.owner) ??
        (isRefusal(failed) ? `${refusals[failed]}${detailText(failed, grant, rule)}.` : `The host says: ${failed}.`)
      );
  }
}

/**
 * What a grant is about instead of the act, or all that it covers when the act was never decided; undefined for one that fails by
 * something else.
 */
function mismatchText(
  failed: string,
  { capabilities }: Grant,
  request: Request | undefined,
  holder: PrincipalRef,
): string | undefined {
  if (!mismatches.has(failed)) return undefined;
  if (request === undefined) return `It covers ${listText(capabilities.map(capabilityText))}.`;
  const { namespace, owner = holder } = request.resource;
  const near = capabilities.filter((one) => one.resource.namespace === namespace);
  switch (failed) {
    case "namespace": {
      const others = distinct(capabilities.map((one) => one.resource.namespace));
      return `It is about ${listText(others)}, not about ${nameText(namespace)}.`;
    }
    case "owner": {
      const owners = new Set(near.map((one) => `${whoText(one.resource.owner ?? holder)}'s`));
      return `It is about what is ${listText([...owners])}, not ${whoText(owner)}'s.`;
    }
    case "action": {
      const actions = distinct(near.flatMap((one) => one.actions));
      return `There it allows to ${listText(actions)}, not to ${nameText(request.action)}.`;
    }
    default: {
      const place = whereText(request.resource);
      return `It covers ${listText(near.map(capabilityText))}, and ${place} lies outside of that.`;
    }
  }
}

const mismatches: ReadonlySet<string> = new Set(["namespace", "owner", "action", "path"]);

/** The terms of a grant that made it refuse an act that it covers. */
function detailText(failed: string, { capabilities, constraints }: Grant, rule: string | undefined): string {
  if (rule !== undefined) return `: ${rule}`;
  const { maxUses } = constraints;
  if (failed === "grant_exhausted" && maxUses !== undefined) return `: ${constraintsText({ maxUses })}`;
  if (!failed.startsWith("approval_")) return "";
  return `: ${grantText({ capabilities: capabilities.filter(({ approval }) => approval !== undefined) })}`;
}

function distinct(names: readonly string[]): string[] {
  return [...new Set(names.map((name) => nameText(name)))];
}
