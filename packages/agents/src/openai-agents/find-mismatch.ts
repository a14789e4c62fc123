import type { JsonObject, JsonValue } from "turnpike/contracts";

const maxDepth = 16;

/**
 * Where a value differs from a JSON schema, and what is expected there; undefined when nothing is found. It knows what the schemas of
 * function tools are made of, and takes everything else for right: the SDK checks the value again before it is used.
 */
export function findMismatch(schema: unknown, value: JsonValue | undefined, place = "", depth = 0): string | undefined {
  if (!isObject(schema) || depth > maxDepth) return undefined;
  if (value === undefined) return undefined;
  const { type, enum: values, properties, required, items, additionalProperties, anyOf } = schema;
  const at = place === "" ? "the arguments" : place;
  if (Array.isArray(values) && !values.some((one) => one === value))
    return `${at}: expected one of ${JSON.stringify(values)}`;
  const types = [type].flat().filter((one) => typeof one === "string");
  if (types.length > 0 && !types.some((one) => isOfType(one, value))) return `${at}: expected ${types.join(" or ")}`;
  if (Array.isArray(anyOf)) {
    const found = anyOf.map((one) => findMismatch(one, value, place, depth + 1));
    if (found.length > 0 && found.every((one) => one !== undefined)) return found[0];
  }
  if (Array.isArray(value))
    return firstOf(value.map((one, index) => findMismatch(items, one, `${place}/${index}`, depth + 1)));
  if (!isObject(value)) return undefined;
  const missing = Array.isArray(required) ? required.find((name) => !Object.hasOwn(value, String(name))) : undefined;
  if (missing !== undefined) return `${place}/${String(missing)}: it is missing`;
  const declared = isObject(properties) ? properties : {};
  const unknown = additionalProperties === false && Object.keys(value).find((name) => !Object.hasOwn(declared, name));
  if (typeof unknown === "string") return `${place}/${unknown}: the tool does not take it`;
  return firstOf(
    Object.entries(declared).map(([name, one]) =>
      Object.hasOwn(value, name) ? findMismatch(one, value[name], `${place}/${name}`, depth + 1) : undefined,
    ),
  );
}

function firstOf(found: readonly (string | undefined)[]): string | undefined {
  return found.find((one) => one !== undefined);
}

function isOfType(type: string, value: JsonValue): boolean {
  switch (type) {
    case "null":
      return value === null;
    case "array":
      return Array.isArray(value);
    case "object":
      return isObject(value);
    case "integer":
      return Number.isInteger(value);
    default:
      return typeof value === type;
  }
}

function isObject(value: unknown): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
