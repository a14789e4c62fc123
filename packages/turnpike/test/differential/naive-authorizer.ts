// The authorization section of the semantics written down a second time: no index, no cache of decisions, nothing shared
// with the kernel. Where the two disagree, one of them is wrong.
import type {
  AccessContext,
  AuthorizationRequest,
  Capability,
  Grant,
  PrincipalRef,
} from "../../src/contracts/index.ts";

/** What the ports would answer, without promises. */
export interface Facts {
  /** The grant source's answer, right or wrong; undefined for an outage. */
  load(context: AccessContext): readonly Grant[] | undefined;
  /** The answer to `find`, right or wrong; "unreadable" for an outage or a source that cannot find at all. */
  find(namespaceId: string, grantId: string): Grant | "unreadable" | undefined;
  /** How often a bounded grant was used; undefined for an outage or a kernel without a usage store. */
  used(grant: Grant): number | undefined;
  policy(request: AuthorizationRequest): "keep" | "deny" | "broken";
  /** The approval of any act: given under this grant, or none yet; undefined for an outage. */
  approval(grant: Grant): "permitted" | "required" | undefined;
}

/** A decision, and whether the policy had to be asked for it. */
export interface NaiveDecision {
  readonly allowed: boolean;
  readonly reasonCode: string;
  readonly matchedGrant?: Grant;
  readonly policyAsked: boolean;
}

const tellingFirst = [
  "usage_store_unavailable",
  "host_policy_unavailable",
  "delegation_chain_unverified",
  "permit_store_unavailable",
  "approval_required",
  "delegation_chain_invalid",
  "host_policy_denied",
  "grant_exhausted",
];

/** Decides, and uses nothing up: the caller that acts on an allowed decision counts one use of a bounded `matchedGrant`. */
export function naiveAuthorize(facts: Facts, context: AccessContext, request: AuthorizationRequest): NaiveDecision {
  if (!contextFits(context)) return refused("invalid_context", false);
  if (!requestFits(request)) return refused("invalid_request", false);
  const { owner } = request.resource;
  if (owner && !isSame(owner, context.owner)) return refused("invalid_request", false);

  const grants = facts.load(context);
  if (grants === undefined) return refused("authority_unavailable", false);
  for (const grant of grants) {
    if (!grantFits(grant) || !isHeld(grant, context)) return refused("authority_unavailable", false);
  }

  const now = instant(context.now);
  const candidates = grants.filter(
    (grant) =>
      isActive(grant, context.purpose, now) &&
      grant.capabilities.some((capability) => covers(capability, request, context.owner)),
  );
  const needsYes = ({ capabilities }: Grant): boolean =>
    capabilities.every(({ approval, ...rest }) => approval === "each" || !covers(rest, request, context.owner));
  const rank = (grant: Grant): number => (needsYes(grant) ? 2 : 0) + (grant.constraints.maxUses === undefined ? 0 : 1);
  const ordered = candidates.toSorted((one, other) => rank(one) - rank(other));

  const failures = new Set<string>();
  let policy: "keep" | "deny" | "broken" | undefined;
  for (const grant of ordered) {
    const chain = walkChain(facts, grant, context.purpose, now);
    if (chain !== "valid") {
      failures.add(`delegation_chain_${chain}`);
      continue;
    }
    policy ??= facts.policy(request);
    if (policy !== "keep") {
      failures.add(policy === "deny" ? "host_policy_denied" : "host_policy_unavailable");
      continue;
    }
    const { maxUses } = grant.constraints;
    const used = maxUses === undefined ? 0 : facts.used(grant);
    if (used === undefined) failures.add("usage_store_unavailable");
    else if (maxUses !== undefined && used >= maxUses) failures.add("grant_exhausted");
    else if (needsYes(grant) && facts.approval(grant) === undefined) failures.add("permit_store_unavailable");
    else if (needsYes(grant) && facts.approval(grant) === "required") failures.add("approval_required");
    else return { allowed: true, reasonCode: "allowed", matchedGrant: grant, policyAsked: true };
  }
  return refused(tellingFirst.find((code) => failures.has(code)) ?? "no_matching_grant", policy !== undefined);
}

function refused(reasonCode: string, policyAsked: boolean): NaiveDecision {
  return { allowed: false, reasonCode, policyAsked };
}

/** Issued, within its window, not revoked, and meant for this purpose. */
export function isActive(grant: Grant, purpose: string, now: number): boolean {
  const { purposes, notBefore, expiresAt } = grant.constraints;
  if (instant(grant.issuedAt) > now) return false;
  if (notBefore !== undefined && instant(notBefore) > now) return false;
  if (expiresAt !== undefined && instant(expiresAt) <= now) return false;
  if (grant.revokedAt !== undefined && instant(grant.revokedAt) <= now) return false;
  return purposes === undefined || purposes.includes(purpose);
}

function covers(
  capability: Capability,
  { action, resource }: AuthorizationRequest,
  contextOwner: PrincipalRef,
): boolean {
  return (
    capability.resource.namespace === resource.namespace &&
    isSame(capability.resource.owner ?? contextOwner, contextOwner) &&
    (capability.actions.includes(action) || capability.actions.includes("*")) &&
    isPathWithin(resource.path, capability)
  );
}

function isPathWithin(path: readonly string[], { resource, scope }: Capability): boolean {
  if (scope === "exact" && path.length !== resource.path.length) return false;
  return path.length >= resource.path.length && resource.path.every((segment, index) => segment === path[index]);
}

function walkChain(facts: Facts, grant: Grant, purpose: string, now: number): "valid" | "invalid" | "unverified" {
  let child = grant;
  for (let links = 1; child.parentId !== undefined; links += 1) {
    if (links > 16) return "invalid";
    const parent = facts.find(grant.namespaceId, child.parentId);
    if (parent === undefined) return "invalid";
    if (parent === "unreadable" || parent.id !== child.parentId || !grantFits(parent)) return "unverified";
    if (!isActive(parent, purpose, now) || !isLinkSound(child, parent)) return "invalid";
    child = parent;
  }
  return "valid";
}

/** Whether the parent may have given what the child holds; says nothing about the instant. */
export function isLinkSound(child: Grant, parent: Grant): boolean {
  const inner = child.constraints;
  const outer = parent.constraints;
  const outerDepth = outer.delegationDepth ?? 0;
  if (parent.namespaceId !== child.namespaceId || !isSame(parent.subject, child.issuer)) return false;
  if (outer.maxUses !== undefined) return false;
  if (outerDepth < 1 || (inner.delegationDepth ?? 0) >= outerDepth) return false;
  if (outer.purposes && !inner.purposes) return false;
  if (outer.purposes && inner.purposes?.some((purpose) => !outer.purposes?.includes(purpose))) return false;
  if (outer.notBefore && (!inner.notBefore || instant(inner.notBefore) < instant(outer.notBefore))) return false;
  if (outer.expiresAt && (!inner.expiresAt || instant(inner.expiresAt) > instant(outer.expiresAt))) return false;
  return child.capabilities.every((narrow) => parent.capabilities.some((wide) => isCapabilityWithin(narrow, wide)));
}

function isCapabilityWithin(narrow: Capability, wide: Capability): boolean {
  const { owner } = narrow.resource;
  if (narrow.resource.namespace !== wide.resource.namespace) return false;
  if (wide.resource.owner && !(owner && isSame(owner, wide.resource.owner))) return false;
  if (!wide.actions.includes("*") && narrow.actions.some((action) => !wide.actions.includes(action))) return false;
  if (wide.scope === "exact" && narrow.scope === "descendants") return false;
  if (wide.approval === "each" && narrow.approval !== "each") return false;
  return isPathWithin(narrow.resource.path, wide);
}

function isHeld(grant: Grant, { namespaceId, actor, authority }: AccessContext): boolean {
  return grant.namespaceId === namespaceId && isSame(grant.subject, actor) && isSame(grant.issuer, authority);
}

/** Equal kind and equal id. */
export function isSame(one: PrincipalRef, other: PrincipalRef): boolean {
  return one.kind === other.kind && idOf(one) === idOf(other);
}

function idOf(principal: PrincipalRef): string {
  if (principal.kind === "human") return principal.userId;
  if (principal.kind === "agent") return principal.agentId;
  return principal.kind === "group" ? principal.conversationId : principal.serviceId;
}

// What fits the contract, as far as worlds break it.

function contextFits({ purpose, now, traceId }: AccessContext): boolean {
  return purpose !== "" && !Number.isNaN(instant(now)) && traceId.trim() !== "";
}

function requestFits({ action, resource }: AuthorizationRequest): boolean {
  return action !== "" && pathFits(resource.path);
}

function pathFits(path: readonly string[]): boolean {
  return (
    path.length <= 64 &&
    path.every((segment) => segment !== "" && segment !== "." && segment !== ".." && !/[/\\\n]/.test(segment))
  );
}

function grantFits(grant: Grant): boolean {
  const { maxUses = 1, delegationDepth = 0, purposes = [""], notBefore, expiresAt } = grant.constraints;
  const { issuedAt, revokedAt = issuedAt } = grant;
  for (const text of [issuedAt, revokedAt, notBefore ?? issuedAt, expiresAt ?? issuedAt]) {
    if (Number.isNaN(instant(text))) return false;
  }
  if (notBefore !== undefined && expiresAt !== undefined && instant(notBefore) > instant(expiresAt)) return false;
  if (maxUses < 1 || delegationDepth < 0 || purposes.length === 0 || "admin" in grant) return false;
  return (
    grant.capabilities.length > 0 &&
    grant.capabilities.every(({ actions, resource }) => actions.length > 0 && pathFits(resource.path))
  );
}

const instants = new Map<string, number>();

/** Microseconds since 1970 of an RFC 3339 date-time; NaN when the text is none. */
export function instant(text: string): number {
  const known = instants.get(text);
  if (known !== undefined) return known;
  if (instants.size > 50_000) instants.clear();
  const [, date, time, fraction = "", sign, hours = "0", minutes = "0"] =
    /^(\d{4}-\d\d-\d\d)T(\d\d:\d\d:\d\d)(?:\.(\d+))?(?:Z|([+-])(\d\d):(\d\d))$/i.exec(text) ?? [];
  const offset = (Number(hours) * 60 + Number(minutes)) * (sign === "-" ? -60_000_000 : 60_000_000);
  const found = Date.parse(`${date}T${time}Z`) * 1000 + Number(fraction.padEnd(6, "0").slice(0, 6)) - offset;
  instants.set(text, found);
  return found;
}
