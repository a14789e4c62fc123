import type { Difference } from "turnpike-host/admin-contract";
import type { JsonValue } from "turnpike/contracts";

/** The title and description of a tool that is not accepted yet: what people read first of it. */
export interface NewTool {
  description: string;
  arguments: { name: string; type: string; isRequired: boolean; description: string }[];
}

/** Reads a tool that is new from its parts, all of which are new. */
export function readNewTool(differences: readonly Difference[]): NewTool {
  const tool: Record<string, JsonValue | undefined> = {};
  for (const { path, after } of differences) if (after !== undefined) put(tool, path, after);
  const schema = asObject(tool["inputSchema"]);
  const required = Object.values(asObject(schema["required"]));
  const properties = Object.entries(asObject(schema["properties"]));
  return {
    description: textOf(tool["description"]) || textOf(tool["title"]),
    arguments: properties.map(([name, value]) => {
      const { type, description } = asObject(value);
      return { name, type: typeText(type), isRequired: required.includes(name), description: textOf(description) };
    }),
  };
}

type Parts = Record<string, JsonValue | undefined>;

function put(parts: Parts, [key = "", ...rest]: readonly string[], value: JsonValue): void {
  const inside = rest.length === 0 ? value : { ...asObject(parts[key]) };
  if (rest.length > 0) put(inside as Parts, rest, value);
  // A name such as `__proto__` is one of many here.
  Object.defineProperty(parts, key, { value: inside, enumerable: true, configurable: true, writable: true });
}

function asObject(value: JsonValue | undefined): Parts {
  return typeof value === "object" && value !== null ? (value as Parts) : {};
}

function textOf(value: JsonValue | undefined): string {
  return typeof value === "string" ? value : "";
}

function typeText(type: JsonValue | undefined): string {
  if (typeof type === "string") return type;
  const several = Object.values(asObject(type));
  return several.length > 0 ? several.map(String).join(" or ") : "anything";
}
