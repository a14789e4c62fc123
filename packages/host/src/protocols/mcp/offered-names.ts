import { hashedName, nameTools, providerName } from "../../base/index.ts";

/** What a host can have, whoever asks: its own tools, and the namespaces that bring tools and prompts of their own. */
export interface KnownNames {
  tools: readonly string[];
  namespaces: readonly string[];
}

/**
 * The names under which clients are shown tools and prompts. INVARIANT: which name something has depends on itself and on
 * what the host is made of, never on what else a caller may use. So no change of grants gives a name that somebody was
 * shown to something else.
 */
export interface OfferedNames {
  /** The name that clients are shown: `^[a-zA-Z0-9_-]{1,64}$`. */
  of(name: string): string;
  /** What a name means, an offered one or a real one; undefined for one with a hash, which is looked for among what is there. */
  meant(name: string): string | undefined;
}

const offered = /^[a-zA-Z0-9_-]{1,64}$/;
const hashed = /_[0-9a-f]{8}$/;

/** Names what a host can have. */
export function createOfferedNames({ tools, namespaces }: KnownNames): OfferedNames {
  const named = nameTools(tools);
  const own = new Map(tools.map((tool) => [named.toModel(tool), tool]));
  const ownNames = new Map([...own].map(([name, tool]) => [tool, name]));
  // The longest first: `mcp_a_b_c` is c of the server a_b, if there is one, and never b_c of the server a.
  const prefixes = namespaces
    .map((namespace) => ({ namespace, prefix: `${providerName(namespace)}_` }))
    .toSorted((one, other) => other.prefix.length - one.prefix.length);
  /** The one name in a namespace that is offered as this without a hash. */
  const readBack = (name: string): string | undefined => {
    const found = prefixes.find(({ prefix }) => name.startsWith(prefix));
    return found && `${found.namespace}.${name.slice(found.prefix.length)}`;
  };
  const isPlain = (plain: string, name: string): boolean =>
    !own.has(plain) && !hashed.test(plain) && readBack(plain) === name;
  return {
    of(name) {
      const plain = providerName(name);
      return ownNames.get(name) ?? (isPlain(plain, name) ? plain : hashedName(name));
    },
    meant(name) {
      if (!offered.test(name)) return name;
      return own.get(name) ?? (hashed.test(name) ? undefined : (readBack(name) ?? name));
    },
  };
}

/** The entries whose offered name no other one has. A hash is short enough for somebody to make two names that share it. */
export function withUniqueNames<Entry extends { name: string }>(entries: readonly Entry[]): Entry[] {
  const counts = new Map<string, number>();
  for (const { name } of entries) counts.set(name, (counts.get(name) ?? 0) + 1);
  return entries.filter(({ name }) => counts.get(name) === 1);
}

/** Where the real name is in the `_meta` of something offered. */
export const realNameKey = "turnpike/name";
