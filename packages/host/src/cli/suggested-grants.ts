import {
  AuthorizationRequestSchema,
  canonicalJson,
  principalKey,
  samePrincipal,
  type AuditEvent,
  type AuthorizationRequest,
  type Capability,
} from "turnpike/contracts";
import type { FileGrant } from "./grant-file.ts";

/** What acts that were only shadowed would have needed. */
export interface SuggestedGrants {
  grants: FileGrant[];
  /** Acts for which nothing is suggested, as `action namespace/path: why`. */
  without: string[];
}

/** The contract allows no more in one grant. */
const maxCapabilities = 64;

/**
 * The grants that shadowed acts lacked, as narrow as they were: exactly these actions on exactly these resources, for the purpose that they
 * had. Those of one holder, issuer and purpose are one grant.
 */
export function suggestedGrants(
  events: readonly AuditEvent[],
  active: readonly FileGrant[],
  makeId: () => string,
): SuggestedGrants {
  const needs = new Map<string, { about: AuditEvent; capabilities: Map<string, Capability> }>();
  const without = new Set<string>();
  for (const event of events) {
    const { actor, authority, owner, purpose, metadata } = event;
    if (metadata?.["shadow"] !== "denied" || authority === undefined) continue;
    for (const { resource, action, reason } of lacksOf(event)) {
      const place = { ...resource, owner: resource.owner ?? owner };
      const what = `${action} ${[place.namespace, ...place.path].join("/")}`;
      if (reason !== "no_matching_grant") without.add(`${what}: ${reason ?? "it was denied"}`);
      else if (!samePrincipal(authority, place.owner))
        without.add(`${what}: it is ${principalKey(place.owner)}'s, who has to grant it first`);
      else if (!active.some((grant) => isGranted(grant, event, { ...place, action }))) {
        const key = canonicalJson([principalKey(actor), principalKey(authority), purpose]);
        const held = needs.get(key) ?? { about: event, capabilities: new Map<string, Capability>() };
        const known = held.capabilities.get(canonicalJson(place))?.actions ?? [];
        const actions = [...new Set([...known, action])].toSorted();
        held.capabilities.set(canonicalJson(place), { resource: place, actions, scope: "exact" });
        needs.set(key, held);
      }
    }
  }
  const grants = [...needs.values()].flatMap(({ about, capabilities }) =>
    inParts([...capabilities.values()]).map((part) => grantFor(about, part, makeId())),
  );
  return { grants, without: [...without] };
}

/** Something that an act lacked, and why. */
type Lack = AuthorizationRequest & { reason?: string };

/** What an act lacked: the event names the first, and its metadata has the others. */
function lacksOf({ resource, action, reason, metadata }: AuditEvent): Lack[] {
  if (resource === undefined || action === undefined) return [];
  const first: Lack = { resource, action, ...(reason !== undefined && { reason }) };
  const others = [metadata?.["lacking"] ?? []].flat().flatMap((other): Lack[] => {
    if (typeof other !== "object" || other === null || Array.isArray(other)) return [];
    const { reason: why, ...request } = other;
    const read = AuthorizationRequestSchema.safeParse(request);
    return read.success ? [{ ...read.data, ...(typeof why === "string" && { reason: why }) }] : [];
  });
  return [first, ...others];
}

type Place = NonNullable<AuditEvent["resource"]> & { action: string };

/** Whether a grant of the file has exactly this already, as a suggestion that was taken has. */
function isGranted(
  { subject, issuer, capabilities, constraints }: FileGrant,
  event: AuditEvent,
  place: Place,
): boolean {
  const { actor, authority, purpose } = event;
  const isTheirs = samePrincipal(subject, actor) && authority !== undefined && samePrincipal(issuer, authority);
  if (!isTheirs || constraints.purposes?.includes(purpose) === false) return false;
  const { action, ...resource } = place;
  return capabilities.some(
    (one) =>
      one.actions.includes(action) && canonicalJson({ owner: issuer, ...one.resource }) === canonicalJson(resource),
  );
}

function grantFor({ actor, authority, owner, purpose }: AuditEvent, capabilities: Capability[], id: string): FileGrant {
  return { id, subject: actor, issuer: authority ?? owner, capabilities, constraints: { purposes: [purpose] } };
}

function inParts(capabilities: readonly Capability[]): Capability[][] {
  const parts: Capability[][] = [];
  for (let from = 0; from < capabilities.length; from += maxCapabilities)
    parts.push(capabilities.slice(from, from + maxCapabilities));
  return parts;
}
