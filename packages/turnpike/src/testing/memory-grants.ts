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

/** A grant, and the answer to whoever asks for it: the same promise each time, which nobody has to wait for twice. */
interface Kept {
  grant: Grant;
  found: Promise<Grant>;
}

interface Answer {
  scope: GrantScope;
  grants: Promise<readonly Grant[]>;
}

/** Keeps grants in memory. The same scope gets the same frozen array until something changes. */
export function memoryGrants(initial: readonly Grant[] = []): MemoryGrants {
  /** By namespace and id. */
  const grants = new Map<string, Map<string, Kept>>();
  /** By the id of the actor, which needs no key to be made for every call. */
  const answers = new Map<string, Answer[]>();
  const put = (grant: Grant): void => {
    // One that does not fit is kept as well: what a kernel makes of it is worth a test.
    const accepted = accept(GrantSchema, grant);
    const kept = accepted.ok ? accepted.value : deepFreeze(structuredClone(grant));
    const tenant = grants.get(grant.namespaceId) ?? new Map<string, Kept>();
    grants.set(grant.namespaceId, tenant.set(grant.id, { grant: kept, found: Promise.resolve(kept) }));
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
      const kept = grants.get(namespaceId)?.get(grantId);
      if (kept === undefined) throw new Error(`There is no grant ${grantId} in namespace ${namespaceId}.`);
      put({ ...kept.grant, revokedAt: at });
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
