import { hashedName, nameTools, providerName } from "../../shared/index.ts";

/** What a host can offer to any caller: its own tools, and the namespaces that have tools and prompts of their own. */
export interface KnownNames {
  tools: readonly string[];
  namespaces: readonly string[];
}

/**
 * The names under which clients see tools and prompts. INVARIANT: a name depends only on the tool or prompt and on the
 * configuration of the host, never on what else a caller may use. So no change of grants makes a name that a client has seen
 * mean something else.
 */
export interface OfferedNames {
  /** The name that clients are shown: `^[a-zA-Z0-9_-]{1,64}$`. */
  of(name: string): string;
  /** What an offered or a real name means; undefined for a name with a hash, which has to be found in the list. */
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
  /** The real name that is offered under this name without a hash. */
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

/** The entries whose offered name is unique. A hash is so short that an attacker could make two names that share it. */
export function withUniqueNames<Entry extends { name: string }>(entries: readonly Entry[]): Entry[] {
  const counts = new Map<string, number>();
  for (const { name } of entries) counts.set(name, (counts.get(name) ?? 0) + 1);
  return entries.filter(({ name }) => counts.get(name) === 1);
}

/** The key of the real name in the `_meta` of an offered entry. */
export const realNameKey = "turnpike/name";
