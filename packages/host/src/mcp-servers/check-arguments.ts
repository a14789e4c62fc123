import type { JsonObject, JsonValue } from "turnpike/contracts";
import { ToolError } from "turnpike/kernel";

/** Whether a value is of a type of JSON Schema, by its name. */
const types: Readonly<Record<string, (value: JsonValue) => boolean>> = {
  string: (value) => typeof value === "string",
  number: (value) => typeof value === "number",
  integer: (value) => Number.isInteger(value),
  boolean: (value) => typeof value === "boolean",
  null: (value) => value === null,
  array: (value) => Array.isArray(value),
  object: isObject,
};

/**
 * Refuses arguments that a tool's schema certainly refuses, so that no person is asked to approve such a call. It checks only
 * what is cheap and safe on any schema: which arguments there are, and their types. The server checks everything else.
 */
export function checkArguments(schema: JsonObject, args: JsonObject): void {
  // In older drafts a reference hides everything beside it.
  if (Object.hasOwn(schema, "$ref")) return;
  const properties = isObject(schema["properties"]) ? schema["properties"] : {};
  for (const name of requiredIn(schema)) {
    if (!Object.hasOwn(args, name) && !hasDefault(properties, name)) throw refused(name, "expected a value");
  }
  for (const [name, value] of Object.entries(args)) {
    const expected = Object.hasOwn(properties, name) ? expectedTypes(properties[name], value) : undefined;
    if (expected !== undefined) throw refused(name, `expected ${expected}`);
    if (!Object.hasOwn(properties, name) && isClosed(schema)) throw refused(name, "the tool has no such argument");
  }
}

function requiredIn({ required }: JsonObject): string[] {
  return Array.isArray(required) ? required.filter((name) => typeof name === "string") : [];
}

/** Some servers declare an argument with a default as required, and accept a call without it. */
function hasDefault(properties: JsonObject, name: string): boolean {
  const property = Object.hasOwn(properties, name) ? properties[name] : undefined;
  return isObject(property) && Object.hasOwn(property, "default");
}

/** The types that a property may have, if the value has none of them. */
function expectedTypes(property: JsonValue | undefined, value: JsonValue): string | undefined {
  if (!isObject(property) || Object.hasOwn(property, "$ref")) return undefined;
  if (value === null && property["nullable"] === true) return undefined;
  const names = [property["type"] ?? []].flat();
  const isKnown = names.every((name) => typeof name === "string" && Object.hasOwn(types, name));
  if (!isKnown || names.length === 0 || names.some((name) => types[name as string]?.(value))) return undefined;
  return names.join(" or ");
}

function isClosed(schema: JsonObject): boolean {
  return schema["additionalProperties"] === false && !Object.hasOwn(schema, "patternProperties");
}

function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function refused(name: string, why: string): ToolError {
  return new ToolError("invalid_tool_arguments", `/${name}: ${why}`.slice(0, 4096));
}
