import type { JsonValue } from "turnpike/contracts";

/** A value that differs between two definitions, or that only one of them has. */
export interface DefinitionDifference {
  path: string[];
  before?: JsonValue;
  after?: JsonValue;
}

/** How many characters the paths of one definition may have together. The server chooses them. */
const maxPlaces = 1_000_000;

/**
 * Every value in which two definitions differ, in the order of their paths. Without a first definition, all values of the
 * second. Definitions with too many paths for a person to read are compared in larger parts.
 */
export function differencesOf(before: string | undefined, after: string): DefinitionDifference[] {
  const definitions = [before, after].map((text) => (text === undefined ? undefined : (JSON.parse(text) as JsonValue)));
  const depth = definitions.every((one) => one === undefined || lengthOfPlaces(one) <= maxPlaces) ? Infinity : 1;
  const [old, current] = [valuesOf(definitions[0], depth), valuesOf(definitions[1], depth)];
  const places = [...new Set([...old.keys(), ...current.keys()])].toSorted();
  return places.flatMap((place) => {
    const [one, other] = [old.get(place), current.get(place)];
    if (JSON.stringify(one) === JSON.stringify(other)) return [];
    const path = (JSON.parse(place) as (string | number)[]).map(String);
    return [{ path, ...(one !== undefined && { before: one }), ...(other !== undefined && { after: other }) }];
  });
}

function partsOf(value: JsonValue): [string, JsonValue][] {
  return typeof value === "object" && value !== null ? Object.entries(value) : [];
}

/** About how many characters the paths of all values have together. */
function lengthOfPlaces(value: JsonValue, length = 0): number {
  const parts = partsOf(value);
  if (parts.length === 0) return length;
  return parts.reduce((sum, [key, part]) => sum + lengthOfPlaces(part, length + key.length + 3), 0);
}

/**
 * The values of a definition by the JSON of their paths. Positions in lists are numbers, so that a list differs from an object
 * with the same values. An empty object or list is a value, and so is everything at the greatest depth.
 */
function valuesOf(definition: JsonValue | undefined, depth: number): Map<string, JsonValue> {
  const values = new Map<string, JsonValue>();
  const visit = (value: JsonValue, path: readonly (string | number)[]): void => {
    const parts = path.length < depth ? partsOf(value) : [];
    if (parts.length === 0) values.set(JSON.stringify(path), value);
    for (const [key, part] of parts) visit(part, [...path, Array.isArray(value) ? Number(key) : key]);
  };
  if (definition !== undefined) visit(definition, []);
  return values;
}
