import { errorCodes, type DelegationRule, type Grant } from "turnpike/contracts";
import { checkGrant, maxDelegationLinks, type GrantCheck } from "turnpike/kernel";
import { mapInSlices } from "../../shared/index.ts";
import type { AdminStores } from "./admin-services.ts";

/** A grant with the kernel's verdict on it. */
export interface CheckedGrant extends GrantCheck {
  grant: Grant;
  /** How often it was used; absent for a grant that is not limited in uses. */
  used?: number;
}

/**
 * Checks grants of one tenant as the kernel would at that instant. The parents are read beforehand for all grants at once:
 * one query for each link of the chains, and one for the uses.
 */
export async function checkGrants(
  { grants: store, usage }: Pick<AdminStores, "grants" | "usage">,
  grants: readonly Grant[],
  now: string,
): Promise<CheckedGrant[]> {
  const namespaceId = grants[0]?.namespaceId ?? "";
  const parents = await readParents(store, namespaceId, grants);
  const bounded = grants.filter(({ constraints }) => constraints.maxUses !== undefined);
  const uses = await usage.usedOf(
    namespaceId,
    bounded.map(({ id }) => id),
  );
  const used = (grantId: string): number => uses.get(grantId) ?? 0;
  const ports = {
    grants: { ...store, find: (_namespaceId: string, id: string) => Promise.resolve(parents.get(id)) },
    usage: { ...usage, used: (_namespaceId: string, id: string) => Promise.resolve(used(id)) },
  };
  // Operators see the time of a revocation. For the check a revoked grant counts as revoked at any time.
  const revoked = grants.filter(({ revokedAt }) => revokedAt !== undefined);
  const counting = await store.findAll(
    namespaceId,
    revoked.map(({ id }) => id),
  );
  const check = async (grant: Grant): Promise<CheckedGrant> => ({
    grant,
    ...(await checkGrant(ports, counting.get(grant.id) ?? grant, { now })),
    ...(grant.constraints.maxUses !== undefined && { used: used(grant.id) }),
  });
  return mapInSlices(grants, check);
}

/** Every ancestor of these grants, by id. */
async function readParents(
  store: AdminStores["grants"],
  namespaceId: string,
  grants: readonly Grant[],
): Promise<Map<string, Grant>> {
  const known = new Map<string, Grant>();
  let children: Iterable<Grant> = grants;
  for (let link = 0; link < maxDelegationLinks; link += 1) {
    const ids = new Set([...children].flatMap(({ parentId }) => parentId ?? []).filter((id) => !known.has(id)));
    if (ids.size === 0) break;
    const found = await store.findAll(namespaceId, [...ids]);
    for (const [id, grant] of found) known.set(id, grant);
    children = found.values();
  }
  return known;
}

/** A broken rule of delegation: its name and its meaning. */
export function ruleText(rule: DelegationRule): string {
  return `${rule}. ${errorCodes[rule].meaning}`;
}
