import { principalKey } from "../contracts/index.ts";
import type { GrantScope, GrantSource, VersionedGrants } from "./ports.ts";

const maxScopes = 1024;

/** Remembers what was made of the newest version of a scope's grants, for the scopes that were added last. */
export class VersionCache<T> {
  readonly #known = new Map<string, { version: string; value: T }>();

  /** What was made of this version; undefined when it is another one than the newest that was added. */
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

/** Everything that a source may answer by, but for the clock and the trace: a version says what they changed. */
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
