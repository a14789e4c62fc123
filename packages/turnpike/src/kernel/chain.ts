import type { DelegationRule, Grant } from "../contracts/index.ts";
import { compileGrant, inactivity, type CompiledGrant } from "./active.ts";
import { callPort, type Answer, type Ports } from "./call-port.ts";
import { isCapabilityWithin } from "./match.ts";

/** How many parents a grant may stand on: a walk asks for no more. */
export const maxDelegationLinks = 16;

/** What the walk up a grant's chain found, with the ids of the parents seen. */
export type ChainVerdict =
  | { kind: "valid"; parents: readonly string[] }
  | { kind: "unverified"; parents: readonly string[] }
  | { kind: "invalid"; parents: readonly string[]; rule: DelegationRule };

/**
 * The moment and purpose for which a chain is walked. Without a purpose it is walked for those of the grant itself: a
 * link holds only when the child's purposes are among its parent's, so a chain is valid for all of them or for none.
 */
export interface ChainMoment {
  now: number;
  purpose?: string;
}

/** Walks from a grant to its root, asking for each parent now. */
export async function walkChain(
  ports: Ports,
  grant: CompiledGrant,
  moment: ChainMoment,
  signal: AbortSignal,
): Promise<ChainVerdict> {
  const parents: string[] = [];
  let child = grant;
  while (child.grant.parentId !== undefined) {
    if (parents.length === maxDelegationLinks) return { kind: "invalid", parents, rule: "chain_too_long" };
    const found = await findGrant(ports, child.grant.namespaceId, child.grant.parentId, signal);
    parents.push(child.grant.parentId);
    if (!found.ok) return { kind: "unverified", parents };
    const parent = found.value;
    if (parent === undefined) return { kind: "invalid", parents, rule: "parent_missing" };
    const rule = brokenRule(child, parent, moment);
    if (rule !== undefined) return { kind: "invalid", parents, rule };
    child = parent;
  }
  return { kind: "valid", parents };
}

function findGrant(
  ports: Ports,
  namespaceId: string,
  grantId: string,
  signal: AbortSignal,
): Promise<Answer<CompiledGrant | undefined>> {
  const find = (): Promise<Grant | undefined> => {
    if (ports.grants.find === undefined) throw new Error("The grant source cannot find grants by id.");
    return ports.grants.find(namespaceId, grantId, signal);
  };
  return callPort(ports, { port: "grants", id: grantId }, signal, find, (grant) => {
    if (grant === undefined) return undefined;
    const compiled = compileGrant(grant);
    if (compiled?.grant.id === grantId) return compiled;
    throw new TypeError("The grant source found something that is not the grant asked for.");
  });
}

function brokenRule(child: CompiledGrant, parent: CompiledGrant, moment: ChainMoment): DelegationRule | undefined {
  if (inactivity(parent, moment.now, moment.purpose) !== undefined) return "parent_inactive";
  return brokenLink(child, parent);
}

const checkedLinks = new WeakMap<CompiledGrant, { parent: CompiledGrant; rule: DelegationRule | undefined }>();

/** The rule that one link breaks whatever the time; undefined when it holds. The last answer for a child is kept. */
export function brokenLink(child: CompiledGrant, parent: CompiledGrant): DelegationRule | undefined {
  const known = checkedLinks.get(child);
  if (known?.parent === parent) return known.rule;
  const rule = checkLink(child, parent);
  checkedLinks.set(child, { parent, rule });
  return rule;
}

function checkLink(child: CompiledGrant, parent: CompiledGrant): DelegationRule | undefined {
  const depth = parent.grant.constraints.delegationDepth ?? 0;
  if (parent.grant.namespaceId !== child.grant.namespaceId) return "parent_elsewhere";
  if (parent.subjectKey !== child.issuerKey) return "parent_not_held";
  if (parent.maxUses !== undefined) return "parent_bounded";
  if (depth < 1) return "delegation_not_allowed";
  if ((child.grant.constraints.delegationDepth ?? 0) >= depth) return "delegation_too_deep";
  if (!areCapabilitiesWithin(child.grant, parent.grant)) return "capability_exceeds_parent";
  if (!arePurposesWithin(child.purposes, parent.purposes)) return "purposes_exceed_parent";
  if (child.notBefore < parent.notBefore || child.expiresAt > parent.expiresAt) return "window_exceeds_parent";
  return undefined;
}

/** Each capability fits into one of the parent's; two of the parent's never combine. */
function areCapabilitiesWithin(child: Grant, parent: Grant): boolean {
  return child.capabilities.every((one) => parent.capabilities.some((other) => isCapabilityWithin(one, other)));
}

function arePurposesWithin(child: ReadonlySet<string> | undefined, parent: ReadonlySet<string> | undefined): boolean {
  if (parent === undefined) return true;
  return child !== undefined && [...child].every((purpose) => parent.has(purpose));
}
