import { sha256 } from "./sha256.ts";

/** The tools of a turn under names that every provider accepts: `^[a-zA-Z0-9_-]{1,64}$`, each once. */
export interface ToolNames {
  /** What the model calls a tool of the catalog. */
  toModel(tool: string): string;
  /** The tool that the model means. A name that it was not given is returned as it is, and the gate refuses it. */
  fromModel(name: string): string;
}

const maxLength = 64;

/** Names the tools. The same set of tools always gets the same names. */
export function nameTools(tools: readonly string[]): ToolNames {
  const names = new Map<string, string>();
  const meant = new Map<string, string>();
  // Names that need no change are taken first.
  const exact = tools.filter((tool) => providerName(tool) === tool);
  const others = tools.filter((tool) => providerName(tool) !== tool);
  for (const tool of [...exact, ...others.toSorted()]) {
    const name = freeName(tool, meant);
    names.set(tool, name);
    meant.set(name, tool);
  }
  return {
    toModel: (tool) => names.get(tool) ?? providerName(tool),
    fromModel: (name) => meant.get(name) ?? name,
  };
}

/** Any text as a name that providers accept, and that is not a property of every object, which would confuse the SDK. */
export function providerName(text: string): string {
  const name = text.replaceAll(/[^a-zA-Z0-9_-]/g, "_").slice(0, maxLength) || "_";
  return name in Object.prototype ? `tool_${name}` : name;
}

/** The plain name. When that is taken or was truncated, a name that ends with a hash of the whole. */
function freeName(tool: string, taken: ReadonlyMap<string, string>): string {
  const plain = providerName(tool);
  if (tool.length <= maxLength && !taken.has(plain)) return plain;
  for (let salt = 0; ; salt += 1) {
    const name = hashedName(tool, salt);
    if (!taken.has(name)) return name;
  }
}

/** A name that ends with a hash of the whole text. */
export function hashedName(text: string, salt = 0): string {
  return `${providerName(text).slice(0, maxLength - 9)}_${sha256(`${salt}${text}`).slice(0, 8)}`;
}
