import { principalKey } from "../contracts/index.ts";
import type { GrantScope, GrantSource, VersionedGrants } from "./ports.ts";

const maxScopes = 1024;

/** Caches a value for the newest version of a scope's grants, for the scopes that were added last. */
export class VersionCache<T> {
  readonly #known = new Map<string, { version: string; value: T }>();

  /** The value of this version; undefined unless it is the newest version that was added. */
  get(scope: GrantScope, version: string): T | undefined {
    const known = this.#known.get(keyOf(scope));
    return known?.version === version ? known.value : undefined;
  }

  add(scope: GrantScope, version: string, value: T): void {
    const key = keyOf(scope);
    this.#known.delete(key);
    this.#known.set(key, { version, value });
    const [oldest] = this.#known.keys();
    if (this.#known.size > maxScopes && oldest !== undefined) this.#known.delete(oldest);
  }
}

/** All fields by which a source may choose grants, except the clock and the trace: grants that depend on those need another version. */
function keyOf({ namespaceId, actor, authority, owner, purpose }: GrantScope): string {
  const names = [namespaceId, principalKey(actor), authority && principalKey(authority), principalKey(owner), purpose];
  return JSON.stringify(names);
}

/** A grant source that can say which version of its grants is in force without loading them. */
export interface VersionedGrantSource extends GrantSource<VersionedGrants> {
  /** The version in force for this scope, never an older one. Throw on an outage. */
  version(scope: GrantScope, signal: AbortSignal): Promise<string>;
}

/**
 * A grant source that loads grants when their version changes, and asks for the version alone at every other call. A revocation
 * takes effect at the next call, as long as it changes the version.
 *
 * @example
 * import { cachedGrants, createKernel } from "turnpike/kernel";
 *
 * const load = () => Promise.resolve({ version: "1", grants: [grant] });
 * const grants = cachedGrants({ load, version: () => Promise.resolve("1") });
 * const kernel = createKernel({ grants, audit: "none" });
 * console.log((await kernel.reach(context)).status); // computed
 */
export function cachedGrants(source: VersionedGrantSource): GrantSource<VersionedGrants> {
  const cache = new VersionCache<VersionedGrants>();
  const cached: GrantSource<VersionedGrants> = {
    async load(scope, signal) {
      const known = cache.get(scope, await source.version(scope, signal));
      if (known !== undefined) return known;
      const loaded = await source.load(scope, signal);
      cache.add(scope, loaded.version, loaded);
      return loaded;
    },
  };
  if (source.find !== undefined) cached.find = source.find.bind(source);
  return cached;
}
