import { GrantSchema, principalKey, type Grant } from "../contracts/index.ts";
import { accept, deepFreeze } from "../internal/index.ts";
import type { GrantScope, GrantSource } from "../kernel/index.ts";

/** A grant source in memory; what is issued or revoked is seen by the next call. */
export interface MemoryGrants extends GrantSource {
  find(namespaceId: string, grantId: string): Promise<Grant | undefined>;
  issue(...grants: readonly Grant[]): void;
  /** Marks a grant as revoked from `at` on. Throws when there is no such grant. */
  revoke(namespaceId: string, grantId: string, at: string): void;
}

/** Keeps grants in memory. The same scope gets the same frozen array until something changes. */
export function memoryGrants(initial: readonly Grant[] = []): MemoryGrants {
  const grants = new Map<string, Grant>();
  const answers = new Map<string, readonly Grant[]>();
  const put = (grant: Grant): void => {
    // One that does not fit is kept as well: what a kernel makes of it is worth a test.
    const accepted = accept(GrantSchema, grant);
    const kept = accepted.ok ? accepted.value : deepFreeze(structuredClone(grant));
    grants.set(keyOf(grant.namespaceId, grant.id), kept);
    answers.clear();
  };
  for (const grant of initial) put(grant);

  return {
    load(scope) {
      const key = JSON.stringify([
        scope.namespaceId,
        principalKey(scope.actor),
        scope.authority && principalKey(scope.authority),
      ]);
      const answer =
        answers.get(key) ?? Object.freeze([...grants.values()].filter((grant) => isAskedFor(grant, scope)));
      answers.set(key, answer);
      return Promise.resolve(answer);
    },
    find(namespaceId, grantId) {
      return Promise.resolve(grants.get(keyOf(namespaceId, grantId)));
    },
    issue(...issued) {
      for (const grant of issued) put(grant);
    },
    revoke(namespaceId, grantId, at) {
      const grant = grants.get(keyOf(namespaceId, grantId));
      if (grant === undefined) throw new Error(`There is no grant ${grantId} in namespace ${namespaceId}.`);
      put({ ...grant, revokedAt: at });
    },
  };
}

function isAskedFor(grant: Grant, { namespaceId, actor, authority }: GrantScope): boolean {
  return (
    grant.namespaceId === namespaceId &&
    principalKey(grant.subject) === principalKey(actor) &&
    (authority === undefined || principalKey(grant.issuer) === principalKey(authority))
  );
}

function keyOf(namespaceId: string, grantId: string): string {
  return JSON.stringify([namespaceId, grantId]);
}
