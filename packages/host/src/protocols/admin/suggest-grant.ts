import { principalKey, samePrincipal, type AuthorizationRequest, type Capability } from "turnpike/contracts";
import { deriveGrant } from "turnpike/kernel";
import type { AdminExplanation } from "../../admin-contract/index.ts";
import { checkGrants } from "./check-grants.ts";
import type { AdminServices } from "./admin-services.ts";

type Access = AdminExplanation["access"];
type Suggestion = NonNullable<AdminExplanation["suggestion"]>;

/**
 * Suggests the grant that would allow one act on one resource of one owner, for one purpose, and nothing more. Its issuer
 * owns the resource or derives the grant from one that they hold. When they can do neither, the answer says what has to
 * happen first.
 */
export async function suggestGrant(
  services: AdminServices,
  access: Access,
  { resource, action }: AuthorizationRequest,
): Promise<{ suggestion: Suggestion } | { obstacle: string }> {
  const { namespaceId, actor: subject, authority: issuer, owner, purpose } = access;
  const capability: Capability = { resource: { ...resource, owner }, actions: [action], scope: "exact" };
  if (samePrincipal(issuer, owner))
    return {
      suggestion: { namespaceId, subject, issuer, capabilities: [capability], constraints: { purposes: [purpose] } },
    };
  const suggestion = await derivedGrant(services, access, capability);
  return suggestion === undefined ? { obstacle: obstacleText(access) } : { suggestion };
}

/** The grant as a child of one that the issuer holds and may delegate; undefined when there is none. */
async function derivedGrant(
  { stores, clock }: AdminServices,
  { namespaceId, actor, authority, owner, purpose }: Access,
  capability: Capability,
): Promise<Suggestion | undefined> {
  const now = clock().toISOString();
  const scope = { namespaceId, actor: authority, owner, purpose, now, traceId: crypto.randomUUID() };
  const held = await stores.grants.load(scope, new AbortController().signal);
  const children = held.flatMap((parent) => {
    const constraints = { purposes: [purpose], delegationDepth: 0 };
    const request = { id: crypto.randomUUID(), subject: actor, capabilities: [capability], constraints, issuedAt: now };
    const derived = deriveGrant(parent, request);
    return derived.ok ? [derived.grant] : [];
  });
  const checked = await checkGrants(stores, children, now);
  const live = checked.find(({ state }) => state === "live")?.grant;
  if (live === undefined) return undefined;
  const { id: _id, issuedAt: _issuedAt, ...suggestion } = live;
  return suggestion;
}

function obstacleText({ actor, authority, owner }: Access): string {
  const [receiver, issuer, holder] = [principalKey(actor), principalKey(authority), principalKey(owner)];
  return (
    `${issuer} cannot grant this: it is ${holder}'s, and ${issuer} holds no grant for it that may be passed on. ` +
    `${holder} has to grant it to ${issuer} first, to be passed on (a delegation depth of at least 1), ` +
    `or to ${receiver}, who then acts on the authority of ${holder}.`
  );
}
