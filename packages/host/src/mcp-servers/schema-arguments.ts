import type { JsonObject, JsonValue } from "turnpike/contracts";

/** An argument that a tool's input schema declares. */
export interface SchemaArgument {
  /** The path to it through nested objects. Lists on the path are skipped. */
  keys: readonly string[];
  /** Whether every call has it: it is required, and so is everything around it. */
  isRequired: boolean;
  /** Its schemas: every alternative that is not null, and for a list its elements. */
  schemas: readonly JsonObject[];
}

/** A schema comes from the server: it may be deep, wide or refer to itself. */
const maxDepth = 8;
const maxArguments = 1024;

/** The arguments of an input schema, nested ones after those that contain them. */
export function argumentsOf(schema: JsonObject): SchemaArgument[] {
  const found: SchemaArgument[] = [];
  const visit = (schemas: readonly JsonObject[], keys: readonly string[], isRequired: boolean): void => {
    const holders = schemas.filter((one) => isObject(one["properties"]));
    for (const [name, declared] of properties(holders)) {
      if (found.length === maxArguments) return;
      const isNeeded = isRequired && holders.every((holder) => isRequiredIn(holder, name));
      const argument = { keys: [...keys, name], isRequired: isNeeded, schemas: meanings(schema, declared) };
      found.push(argument);
      if (argument.keys.length < maxDepth) visit(argument.schemas, argument.keys, isNeeded);
    }
  };
  visit(meanings(schema, [schema]), [], true);
  return found;
}

/** The properties that any of these schemas declares, with what each says of it. */
function properties(holders: readonly JsonObject[]): Map<string, JsonValue[]> {
  const all = new Map<string, JsonValue[]>();
  for (const { properties: declared } of holders) {
    for (const [name, one] of Object.entries(isObject(declared) ? declared : {})) {
      all.set(name, [...(all.get(name) ?? []), one]);
    }
  }
  return all;
}

function isRequiredIn({ required, properties: declared }: JsonObject, name: string): boolean {
  const isMentioned = isObject(declared) && Object.hasOwn(declared, name);
  return isMentioned && Array.isArray(required) && required.includes(name);
}

/** Resolves schemas: follows references, splits alternatives and parts, and replaces lists by their elements. */
function meanings(root: JsonObject, schemas: readonly JsonValue[]): JsonObject[] {
  const seen = new Set<JsonValue>();
  const found: JsonObject[] = [];
  const follow = (schema: JsonValue | undefined): void => {
    if (!isObject(schema) || seen.has(schema) || seen.size > maxArguments) return;
    seen.add(schema);
    const { $ref: reference, items, anyOf, oneOf, allOf, type } = schema;
    if (typeof reference === "string") follow(referred(root, reference));
    for (const part of [anyOf, oneOf, allOf]) if (Array.isArray(part)) part.forEach(follow);
    if (items !== undefined) follow(items);
    if (type !== "null") found.push(schema);
  };
  schemas.forEach(follow);
  return found;
}

/** What a reference within the same schema points to. Others are never followed. */
function referred(root: JsonObject, reference: string): JsonValue | undefined {
  if (!reference.startsWith("#/")) return undefined;
  let place: JsonValue | undefined = root;
  for (const step of reference.slice(2).split("/")) {
    const name = step.replaceAll("~1", "/").replaceAll("~0", "~");
    place = isObject(place) && Object.hasOwn(place, name) ? place[name] : undefined;
  }
  return place;
}

function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
