import {
  principalKey,
  type Capability,
  type DiscoveryContext,
  type Grant,
  type PrincipalRef,
  type ReachEntry,
  type ResourceRef,
} from "../contracts/index.ts";
import type { Gate } from "./authorize.ts";
import { acceptDiscovery } from "./context.ts";
import { KernelError } from "./kernel-error.ts";
import { mismatch } from "./match.ts";
import { countingGrants, isOwnedBy, type UnavailableReach } from "./reach.ts";

/** The conditions under which a grant covers a place. */
interface Terms {
  /** The owner of the place; the owner that the actor acts for when absent. */
  owner?: PrincipalRef;
  /** Each act needs a person's approval of its own. */
  approval?: "each";
}

/** One place where a principal may act right now, and the grants that allow it. */
export interface ExplainedReach extends ReachEntry, Terms {
  grantIds: string[];
}

/** All places where a principal may act right now, or why they are unknown. For operators, because it names grants. */
export type ReachExplanation = { status: "computed"; reach: ExplainedReach[] } | UnavailableReach;

/** The principal whose reach is explained. Without an owner it covers resources of all owners, without an authority grants of all issuers. */
export type ReachScope = Omit<DiscoveryContext, "owner"> & { owner?: PrincipalRef };

/** Counts the grants that `reach` counts, and also shows what needs approval. It records nothing, because nothing was done. */
export async function explainReach(gate: Gate, scope: ReachScope, signal: AbortSignal): Promise<ReachExplanation> {
  signal.throwIfAborted();
  const trusted = acceptDiscovery({ ...scope, owner: scope.owner ?? scope.actor });
  if (trusted === undefined) throw new KernelError("invalid_context");
  const counting = await countingGrants(gate, trusted, signal);
  if ("reasonCode" in counting) return counting;
  const { owner } = scope;
  // Many grants may name one place, so the entries are collected first and sorted once.
  const places = new Map<string, Gathered & { capability: Capability; grantIds: Set<string> }>();
  for (const { grant } of counting.grants) {
    for (const capability of grant.capabilities) {
      const { actions, scope: reaches, resource } = capability;
      if (owner !== undefined && !isOwnedBy(resource, owner)) continue;
      const key = JSON.stringify([resource.namespace, resource.path, reaches, termsKey(capability)]);
      const place = places.get(key) ?? { capability, actions: new Set(), grantIds: new Set() };
      places.set(key, place);
      for (const action of actions) place.actions.add(action);
      place.grantIds.add(grant.id);
    }
  }
  const reach = inOrder(places).map(({ capability, actions, grantIds }): ExplainedReach => {
    const { namespace, path } = capability.resource;
    return {
      namespace,
      path: [...path],
      actions: [...actions].toSorted(),
      scope: capability.scope,
      ...termsOf(capability),
      grantIds: [...grantIds].toSorted(),
    };
  });
  return { status: "computed", reach };
}

interface Gathered {
  actions: Set<string>;
}

/** Actions that a grant covers at a place, and under which conditions. */
export interface Coverage extends Terms {
  actions: string[];
}

/**
 * Says for operators how a grant covers a resource, by the comparison that decisions make. A resource without an owner matches any
 * owner, and without `action` any action matches. Use `checkGrant` to know whether the grant counts at all.
 *
 * @example
 * import { coverageOf } from "turnpike/kernel";
 *
 * const note = { namespace: "notes", path: ["shopping"] };
 * console.log(coverageOf(grant, note, "read").length, coverageOf(grant, note, "write").length); // 1 0
 */
export function coverageOf(grant: Grant, resource: ResourceRef, action?: string): Coverage[] {
  const found = new Map<string, Gathered & { capability: Capability }>();
  for (const capability of grant.capabilities) {
    const owner = resource.owner ?? capability.resource.owner ?? grant.subject;
    const actions = capability.actions.filter(
      (one) =>
        (action === undefined || one === action || one === "*") &&
        mismatch(capability, { action: action ?? one, resource }, owner) === undefined,
    );
    if (actions.length === 0) continue;
    const key = termsKey(capability);
    const known = found.get(key) ?? { capability, actions: new Set() };
    found.set(key, known);
    for (const one of actions) known.actions.add(one);
  }
  return inOrder(found).map((one) => ({ actions: [...one.actions].toSorted(), ...termsOf(one.capability) }));
}

function termsOf({ resource: { owner }, approval }: Capability): Terms {
  return { ...(owner && { owner }), ...(approval && { approval }) };
}

function termsKey({ resource: { owner }, approval }: Capability): string {
  return JSON.stringify([owner && principalKey(owner), approval]);
}

function inOrder<Value>(found: ReadonlyMap<string, Value>): Value[] {
  return [...found].toSorted(([one], [other]) => (one < other ? -1 : 1)).map(([, value]) => value);
}
