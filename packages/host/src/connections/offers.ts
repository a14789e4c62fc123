import type { Capability, Grant, PrincipalRef } from "turnpike/contracts";
import { deriveGrant } from "turnpike/kernel";
import { secretHashOf } from "../access/index.ts";
import { actsIn, type ScopedAct } from "./scope.ts";

/** Something that a person may let a client do: one action of one capability that they hold and may hand on. */
export interface Offer {
  /** Names exactly this; when what the person holds has changed, nothing has the name. */
  key: string;
  grantId: string;
  capability: Capability;
  /** The client asked for it. */
  isAsked: boolean;
}

/** What every grant of a connection is derived with. INVARIANT: a client hands nothing on. */
export interface Terms {
  subject: PrincipalRef;
  purpose: string;
  at: string;
  /** When it ends; with the grant that it is derived from unless given. */
  endsAt?: string | undefined;
}

/** How many offers a page shows. What a client asked for comes first. */
const mostOffers = 200;

/**
 * What a person may let a client do, of the grants that they hold. Whether they may hand something on is the kernel's to say: each offer
 * is one that a grant could be derived for now.
 */
export function offersOf(
  grants: readonly Grant[],
  scope: string,
  terms: Pick<Terms, "subject" | "purpose" | "at">,
): Offer[] {
  const asked = actsIn(scope);
  const offers = grants.flatMap((grant) =>
    grant.capabilities.flatMap((capability) => {
      const whole = capability.actions.map((action) => ({ ...capability, actions: [action] }));
      const parts = asked.flatMap((act) => narrowed(capability, act));
      return [...parts, ...whole].map((one) => offerOf(grant, one, asked));
    }),
  );
  const known = new Map<string, Offer>();
  for (const offer of offers) if (!known.has(offer.key)) known.set(offer.key, offer);
  const isPossible = ({ grantId, capability }: Offer): boolean => {
    const parent = grants.find(({ id }) => id === grantId);
    return parent !== undefined && derive(parent, "offer", [capability], terms) !== undefined;
  };
  return [...known.values()]
    .filter(isPossible)
    .toSorted((one, other) => Number(other.isAsked) - Number(one.isAsked))
    .slice(0, mostOffers);
}

function offerOf({ id: grantId }: Grant, capability: Capability, asked: readonly ScopedAct[]): Offer {
  const key = secretHashOf(JSON.stringify([grantId, capability])).slice(0, 24);
  return { key, grantId, capability, isAsked: asked.some((act) => isExactly(capability, act)) };
}

/** The part of a capability that an act names, when that is less than all of it. */
function narrowed(capability: Capability, { action, namespace, path }: ScopedAct): Capability[] {
  const { resource, actions, scope } = capability;
  const isWithin =
    resource.namespace === namespace &&
    scope === "descendants" &&
    path.length > resource.path.length &&
    resource.path.every((step, place) => step === path[place]);
  const isAllowed = actions.includes(action) || actions.includes("*");
  return isWithin && isAllowed ? [{ ...capability, resource: { ...resource, path }, actions: [action] }] : [];
}

function isExactly({ resource, actions }: Capability, { action, namespace, path }: ScopedAct): boolean {
  return (
    actions[0] === action &&
    resource.namespace === namespace &&
    resource.path.length === path.length &&
    resource.path.every((step, place) => step === path[place])
  );
}

/** The grants that a person's choice comes to, one for each grant of theirs; undefined when something of it is no longer theirs to give. */
export function grantsOf(
  grants: readonly Grant[],
  chosen: readonly { offer: Pick<Offer, "grantId" | "capability">; isAskedEach: boolean }[],
  terms: Terms & { freshId(): string },
): Grant[] | undefined {
  const derived: Grant[] = [];
  for (const parent of grants) {
    const of = chosen.filter(({ offer }) => offer.grantId === parent.id);
    if (of.length === 0) continue;
    const capabilities = merged(of.map(({ offer, isAskedEach }) => limited(offer.capability, isAskedEach)));
    const grant = derive(parent, terms.freshId(), capabilities, terms);
    if (grant === undefined) return undefined;
    derived.push(grant);
  }
  return derived;
}

function limited(capability: Capability, isAskedEach: boolean): Capability {
  return isAskedEach ? { ...capability, approval: "each" } : capability;
}

/** Capabilities about one place under the same terms become one with all of their actions. */
function merged(capabilities: readonly Capability[]): Capability[] {
  const places = new Map<string, Capability>();
  for (const { actions, ...rest } of capabilities) {
    const place = JSON.stringify(rest);
    places.set(place, { ...rest, actions: [...(places.get(place)?.actions ?? []), ...actions] });
  }
  return [...places.values()];
}

function derive(
  parent: Grant,
  id: string,
  capabilities: readonly Capability[],
  terms: Omit<Terms, "endsAt"> & { endsAt?: string | undefined },
) {
  const { subject, purpose, at: issuedAt, endsAt } = terms;
  const { expiresAt } = parent.constraints;
  const isSooner = endsAt !== undefined && (expiresAt === undefined || Date.parse(endsAt) < Date.parse(expiresAt));
  const constraints = { purposes: [purpose], delegationDepth: 0, ...(isSooner && { expiresAt: endsAt }) };
  const derivation = deriveGrant(parent, { id, subject, capabilities: [...capabilities], constraints, issuedAt });
  return derivation.ok ? derivation.grant : undefined;
}
