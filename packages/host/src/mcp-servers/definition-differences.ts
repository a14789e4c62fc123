import type { JsonValue } from "turnpike/contracts";

/** A value that is another in one of two definitions, or that only one of them has. */
export interface DefinitionDifference {
  path: string[];
  before?: JsonValue;
  after?: JsonValue;
}

/** Every value in which two definitions differ, in the order of their places. Without a first one, all of the second. */
export function differencesOf(before: string | undefined, after: string): DefinitionDifference[] {
  const [old, current] = [valuesOf(before), valuesOf(after)];
  const places = [...new Set([...old.keys(), ...current.keys()])].toSorted();
  return places.flatMap((place) => {
    const [one, other] = [old.get(place), current.get(place)];
    if (JSON.stringify(one) === JSON.stringify(other)) return [];
    const path = (JSON.parse(place) as (string | number)[]).map(String);
    return [{ path, ...(one !== undefined && { before: one }), ...(other !== undefined && { after: other }) }];
  });
}

/**
 * The values of a definition, each under the JSON of its path, in which places of lists are numbers: a list that became an object
 * with the same values is another one. An empty object or list is a value.
 */
function valuesOf(definition: string | undefined): Map<string, JsonValue> {
  const values = new Map<string, JsonValue>();
  const visit = (value: JsonValue, path: readonly (string | number)[]): void => {
    const parts = typeof value === "object" && value !== null ? Object.entries(value) : [];
    if (parts.length === 0) values.set(JSON.stringify(path), value);
    for (const [key, part] of parts) visit(part, [...path, Array.isArray(value) ? Number(key) : key]);
  };
  if (definition !== undefined) visit(JSON.parse(definition) as JsonValue, []);
  return values;
}
