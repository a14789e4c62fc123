import { GrantSchema, principalId, samePrincipal, type Grant } from "../contracts/index.ts";
import { accept, deepFreeze } from "../internal/index.ts";
import type { GrantScope, GrantSource } from "../kernel/index.ts";

/** A grant source in memory; what is issued or revoked is seen by the next call. */
export interface MemoryGrants extends GrantSource<readonly Grant[]> {
  find(namespaceId: string, grantId: string): Promise<Grant | undefined>;
  issue(...grants: readonly Grant[]): void;
  /** Marks a grant as revoked from `at` on. Throws when there is no such grant. */
  revoke(namespaceId: string, grantId: string, at: string): void;
}

/** A grant, and the answer about it: the same promise each time, so that callers need not wait twice. */
interface StoredGrant {
  grant: Grant;
  found: Promise<Grant>;
}

interface Answer {
  scope: GrantScope;
  grants: Promise<readonly Grant[]>;
}

/**
 * Stores grants in memory. The same scope gets the same frozen array until something changes.
 *
 * @example
 * import { memoryGrants } from "turnpike/testing";
 *
 * const grants = memoryGrants([grant]);
 * grants.revoke("home", "grant-1", "2026-01-02T00:00:00Z");
 * const found = await grants.find("home", "grant-1");
 * console.log(found?.revokedAt); // 2026-01-02T00:00:00Z
 */
export function memoryGrants(initial: readonly Grant[] = []): MemoryGrants {
  /** By namespace and id. */
  const grants = new Map<string, Map<string, StoredGrant>>();
  /** By the id of the actor, which needs no key to be made for every call. */
  const answers = new Map<string, Answer[]>();
  const put = (grant: Grant): void => {
    // One that does not fit is stored as well, so that tests can show what a kernel does with it.
    const accepted = accept(GrantSchema, grant);
    const stored = accepted.ok ? accepted.value : deepFreeze(structuredClone(grant));
    const tenant = grants.get(grant.namespaceId) ?? new Map<string, StoredGrant>();
    grants.set(grant.namespaceId, tenant.set(grant.id, { grant: stored, found: Promise.resolve(stored) }));
    answers.clear();
  };
  for (const grant of initial) put(grant);

  return {
    load(scope) {
      const actorId = principalId(scope.actor);
      const known = answers.get(actorId) ?? [];
      const answer = known.find((one) => isSameHolder(one.scope, scope));
      if (answer !== undefined) return answer.grants;
      const tenant = [...(grants.get(scope.namespaceId)?.values() ?? [])].map(({ grant }) => grant);
      const held = Promise.resolve(Object.freeze(tenant.filter((grant) => isAskedFor(grant, scope))));
      answers.set(actorId, [...known, { scope, grants: held }]);
      return held;
    },
    find(namespaceId, grantId) {
      return grants.get(namespaceId)?.get(grantId)?.found ?? Promise.resolve(undefined);
    },
    issue(...issued) {
      for (const grant of issued) put(grant);
    },
    revoke(namespaceId, grantId, at) {
      const stored = grants.get(namespaceId)?.get(grantId);
      if (stored === undefined) throw new Error(`There is no grant ${grantId} in namespace ${namespaceId}.`);
      put({ ...stored.grant, revokedAt: at });
    },
  };
}

function isSameHolder(one: GrantScope, other: GrantScope): boolean {
  if (one.namespaceId !== other.namespaceId || !samePrincipal(one.actor, other.actor)) return false;
  if (one.authority === undefined || other.authority === undefined) return one.authority === other.authority;
  return samePrincipal(one.authority, other.authority);
}

function isAskedFor(grant: Grant, { actor, authority }: GrantScope): boolean {
  return samePrincipal(grant.subject, actor) && (authority === undefined || samePrincipal(grant.issuer, authority));
}
