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

/** On what terms a grant covers a place. */
interface Terms {
  /** Whose place it is; that of whoever the actor acts for when absent. */
  owner?: PrincipalRef;
  /** Each act needs a person's yes of its own. */
  approval?: "each";
}

/** One place where a principal may act right now, and the grants that say so. */
export interface ExplainedReach extends ReachEntry, Terms {
  grantIds: string[];
}

/** Everywhere a principal may act right now, or why that cannot be said. For operators: it names grants. */
export type ReachExplanation = { status: "computed"; reach: ExplainedReach[] } | UnavailableReach;

/** Whose reach is explained: without an owner that over everybody's resources, without an authority that of all issuers. */
export type ReachScope = Omit<DiscoveryContext, "owner"> & { owner?: PrincipalRef };

/** Counts the grants that `reach` counts, shows what needs approval too, and records nothing: nobody has acted. */
export async function explainReach(gate: Gate, scope: ReachScope, signal: AbortSignal): Promise<ReachExplanation> {
  signal.throwIfAborted();
  const trusted = acceptDiscovery({ ...scope, owner: scope.owner ?? scope.actor });
  if (trusted === undefined) throw new KernelError("invalid_context");
  const counting = await countingGrants(gate, trusted, signal);
  if ("reasonCode" in counting) return counting;
  const { owner } = scope;
  // Many grants may name one place: what they say is gathered first, and sorted once.
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

/** Actions that a grant covers at a place, and on what terms. */
export interface Coverage extends Terms {
  actions: string[];
}

/**
 * For operators: how a grant covers a resource, compared as a decision compares them; of any owner when the resource names
 * none, for any action unless one is given. Whether the grant counts at all is for `checkGrant` to say.
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
