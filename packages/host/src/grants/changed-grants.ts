import { principalKey, samePrincipal, type Grant } from "turnpike/contracts";
import { compareGrantsInSteps, type GrantComparison, type GrantScope, type GrantSource } from "turnpike/kernel";
import { runInSlices } from "../shared/index.ts";
import { asRevoked } from "./stored-grant.ts";

/** A change of the grants of one tenant that is only previewed: some are issued, and those of some ids are revoked. */
export interface GrantChange {
  issue?: readonly Grant[];
  revoke?: readonly string[];
}

/** What a change does for all requests from an instant on. The grants are those that have not ended by then. */
export async function compareChange(
  grants: readonly Grant[],
  change: GrantChange,
  at: string,
): Promise<GrantComparison & { at: string }> {
  return { at, ...(await runInSlices(compareGrantsInSteps(grants, afterChange(grants, change), { at }))) };
}

/** The grants of a tenant after a change. */
export function afterChange(grants: readonly Grant[], { issue = [], revoke = [] }: GrantChange): readonly Grant[] {
  const revoked = new Set(revoke);
  return [...grants.map((grant) => (revoked.has(grant.id) ? asRevoked(grant) : grant)), ...issue];
}

/** What the host's own store answers: grants without a version. */
type PlainSource = GrantSource<readonly Grant[]>;

/**
 * The grants of one tenant as they would be after a change. What the change does not touch is handed on as it is. Grants that
 * were derived from a revoked one stay, and their chains are broken, as after any revocation.
 */
export function withChange(source: PlainSource, { issue = [], revoke = [] }: GrantChange): PlainSource {
  const issued = new Map(issue.map((grant) => [grant.id, grant]));
  const revoked = new Set(revoke);
  const bySubject = new Map<string, Grant[]>();
  for (const grant of issue) {
    const key = principalKey(grant.subject);
    bySubject.set(key, [...(bySubject.get(key) ?? []), grant]);
  }
  const seen = (grant: Grant): Grant => (revoked.has(grant.id) ? asRevoked(grant) : grant);
  return readOnce({
    async load(scope, signal) {
      const { actor, authority } = scope;
      const held = await source.load(scope, signal);
      const more = (bySubject.get(principalKey(actor)) ?? []).filter(
        ({ issuer }) => authority === undefined || samePrincipal(issuer, authority),
      );
      if (more.length === 0 && !held.some(({ id }) => revoked.has(id))) return held;
      return [...held.map(seen), ...more];
    },
    async find(namespaceId, id, signal) {
      const grant = issued.get(id) ?? (await source.find?.(namespaceId, id, signal));
      return grant && seen(grant);
    },
  });
}

/** Reads each set of grants and each grant once, so that decisions are compared that rest on the same ones. */
export function readOnce(source: PlainSource): PlainSource {
  const sets = new Map<string, Promise<readonly Grant[]>>();
  const grants = new Map<string, Promise<Grant | undefined>>();
  const once = <T>(known: Map<string, Promise<T>>, key: string, read: () => Promise<T>): Promise<T> => {
    const found = known.get(key) ?? read();
    known.set(key, found);
    return found;
  };
  return {
    load: (scope, signal) => once(sets, keyOf(scope), async () => Object.freeze(await source.load(scope, signal))),
    find: (namespaceId, id, signal) =>
      once(grants, JSON.stringify([namespaceId, id]), async () => source.find?.(namespaceId, id, signal)),
  };
}

function keyOf({ namespaceId, actor, authority }: GrantScope): string {
  return JSON.stringify([namespaceId, principalKey(actor), authority && principalKey(authority)]);
}
