import {
  principalKey,
  type AuthorizationRequest,
  type Capability,
  type PrincipalRef,
  type ResourceRef,
  type Scope,
} from "../contracts/index.ts";

/** The first thing in which a capability and a request differ. */
export type Mismatch = "namespace" | "owner" | "action" | "path";

const mismatchOrder: readonly Mismatch[] = ["namespace", "owner", "action", "path"];

/** True when `path` is `ancestor` or below it, segment by segment. */
export function isAtOrBelow(path: readonly string[], ancestor: readonly string[]): boolean {
  return ancestor.length <= path.length && ancestor.every((segment, index) => segment === path[index]);
}

function isSamePath(one: readonly string[], other: readonly string[]): boolean {
  return one.length === other.length && isAtOrBelow(one, other);
}

function scopeCovers(scope: Scope, covering: readonly string[], path: readonly string[]): boolean {
  return scope === "descendants" ? isAtOrBelow(path, covering) : isSamePath(path, covering);
}

/** Why the capability does not cover the request; undefined when it does. No owner means the context's owner. */
export function mismatch(
  capability: Capability,
  request: AuthorizationRequest,
  contextOwner: PrincipalRef,
): Mismatch | undefined {
  const { resource, actions, scope } = capability;
  if (resource.namespace !== request.resource.namespace) return "namespace";
  if (ownerKey(resource, contextOwner) !== ownerKey(request.resource, contextOwner)) return "owner";
  if (!actions.includes(request.action) && !actions.includes("*")) return "action";
  return scopeCovers(scope, resource.path, request.resource.path) ? undefined : "path";
}

/** The mismatch of the capability that comes nearest to the request; undefined when one of them covers it alone. */
export function nearestMismatch(
  capabilities: readonly Capability[],
  request: AuthorizationRequest,
  contextOwner: PrincipalRef,
): Mismatch | undefined {
  let nearest = 0;
  for (const capability of capabilities) {
    const found = mismatch(capability, request, contextOwner);
    if (found === undefined) return undefined;
    nearest = Math.max(nearest, mismatchOrder.indexOf(found));
  }
  return mismatchOrder[nearest];
}

/** True when the child capability allows nothing that the parent capability does not. */
export function isCapabilityWithin(child: Capability, parent: Capability): boolean {
  if (child.resource.namespace !== parent.resource.namespace) return false;
  if (!isOwnerWithin(child.resource.owner, parent.resource.owner)) return false;
  if (!parent.actions.includes("*") && !child.actions.every((action) => parent.actions.includes(action))) return false;
  if (child.scope === "descendants" && parent.scope === "exact") return false;
  if (parent.approval !== undefined && child.approval === undefined) return false;
  return scopeCovers(parent.scope, parent.resource.path, child.resource.path);
}

/** True when the requirement asks for no more than the ceiling: the same act, at its path or below. */
export function isWithinCeiling(
  requirement: AuthorizationRequest,
  ceiling: AuthorizationRequest,
  contextOwner: PrincipalRef,
): boolean {
  return (
    requirement.action === ceiling.action &&
    requirement.resource.namespace === ceiling.resource.namespace &&
    ownerKey(requirement.resource, contextOwner) === ownerKey(ceiling.resource, contextOwner) &&
    isAtOrBelow(requirement.resource.path, ceiling.resource.path)
  );
}

/** A capability without owner follows every context's owner, so only an equally open parent contains it. */
function isOwnerWithin(child: PrincipalRef | undefined, parent: PrincipalRef | undefined): boolean {
  if (parent === undefined) return true;
  return child !== undefined && principalKey(child) === principalKey(parent);
}

function ownerKey(resource: ResourceRef, contextOwner: PrincipalRef): string {
  return principalKey(resource.owner ?? contextOwner);
}
