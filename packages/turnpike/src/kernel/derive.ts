import { GrantSchema, type Constraints, type DelegationRule, type Grant } from "../contracts/index.ts";
import { accept, markAccepted } from "../internal/index.ts";
import { compileGrant, inactivity, type CompiledGrant } from "./active.ts";
import { brokenLink, maxDelegationLinks } from "./chain.ts";

/** What a holder delegates. Constraints that it leaves out are the parent's. */
export type GrantInput = Pick<Grant, "id" | "subject" | "capabilities" | "issuedAt"> &
  Partial<Pick<Grant, "constraints" | "metadata">>;

/** A narrower child, or the rule that it breaks. */
export type Derivation = { ok: true; grant: Grant } | { ok: false; reason: DelegationRule };

/** How many parents above them the grants have that were made here. A grant itself names only its own parent. */
const knownLinks = new WeakMap<Grant, number>();

/**
 * Makes a grant that is no wider than its parent, or refuses; it never clamps.
 * `parentLinks` is how many parents the parent has above it, for a derived parent that comes out of a store.
 *
 * @example
 * import { deriveGrant } from "turnpike/kernel";
 *
 * const [capability] = grant.capabilities;
 * const child = { id: "grant-2", subject: { kind: "agent", agentId: "other" }, issuedAt: context.now } as const;
 * const narrower = { ...child, capabilities: capability ? [{ ...capability, scope: "exact" as const }] : [] };
 * const parent = { ...grant, constraints: { delegationDepth: 1 } };
 * console.log(deriveGrant(parent, narrower).ok); // true
 */
export function deriveGrant(parent: Grant, input: GrantInput, parentLinks: number = linksOf(parent)): Derivation {
  const compiledParent = compileGrant(parent);
  if (compiledParent === undefined) return refuse("invalid_parent");
  if (!(parentLinks < maxDelegationLinks)) return refuse("chain_too_long");
  const asked = accept(GrantSchema, childOf(compiledParent.grant, input));
  if (!asked.ok || asked.value.id === parent.id) return refuse("invalid_ask");

  const constraints = { ...inheritedFrom(compiledParent.grant), ...stated(asked.value.constraints) };
  // Each constraint was accepted, here or with the parent. `compileGrant` checks that together they leave a window.
  const child = compileGrant(markAccepted(GrantSchema, { ...asked.value, constraints: Object.freeze(constraints) }));
  if (child === undefined || startOf(child) >= child.window.expiresAt) return refuse("empty_window");
  // Purposes are compared as sets by the link itself.
  if (inactivity(compiledParent, child.window.issuedAt) !== undefined) return refuse("parent_inactive");
  const rule = brokenLink(child, compiledParent);
  if (rule !== undefined) return refuse(rule);
  knownLinks.set(child.grant, parentLinks + 1);
  return { ok: true, grant: child.grant };
}

function refuse(reason: DelegationRule): Derivation {
  return { ok: false, reason };
}

/** The child with no constraints but those that the input states. */
function childOf({ namespaceId, subject: issuer, id: parentId }: Grant, input: Partial<GrantInput> | null): unknown {
  const { id, subject, capabilities, issuedAt, metadata, constraints = {} } = input ?? {};
  const child = { id, namespaceId, subject, issuer, capabilities, constraints, issuedAt, parentId };
  return metadata === undefined ? child : { ...child, metadata };
}

function inheritedFrom({ constraints }: Grant): Constraints {
  return { ...constraints, delegationDepth: Math.max(0, (constraints.delegationDepth ?? 0) - 1) };
}

/** An undefined constraint is one that is not restated. */
function stated(constraints: Constraints): Constraints {
  return Object.fromEntries(Object.entries(constraints).filter(([, value]) => value !== undefined));
}

function startOf({ window }: CompiledGrant): number {
  return Math.max(window.issuedAt, window.notBefore);
}

function linksOf(grant: Grant | undefined | null): number {
  if (grant === undefined || grant === null) return 0;
  return knownLinks.get(grant) ?? (grant.parentId === undefined ? 0 : 1);
}
