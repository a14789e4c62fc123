import type { JsonObject, JsonValue } from "turnpike/contracts";
import { truncateText, withoutHiddenText } from "../base/index.ts";

/** Text of a server as it may be shown: nothing hidden in it, and no longer than the limit. */
export function plainText(text: string, maxLength: number): string {
  return truncateText(withoutHiddenText(text), maxLength);
}

/** JSON of a server with nothing hidden in its texts and names. Throws when two names are one without what hid in them. */
export function plainJson(value: JsonValue): JsonValue {
  if (typeof value === "string") return withoutHiddenText(value);
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(plainJson);
  const plain = Object.entries(value).map(([name, part]) => [withoutHiddenText(name), plainJson(part)] as const);
  if (new Set(plain.map(([name]) => name)).size < plain.length) throw new HiddenTextError("Two names read alike.");
  return Object.fromEntries(plain);
}

/** Hidden characters where taking them out would change a meaning. */
export class HiddenTextError extends Error {
  override readonly name = "HiddenTextError";
}

/** Keywords of a schema whose texts are for readers alone. */
const wordsForReaders = new Set(["title", "description", "$comment"]);
/** Keywords below which everything is a value that a tool takes. */
const valuesForTools = new Set(["enum", "const", "default", "examples"]);

/**
 * A schema of a server with nothing hidden in the words for readers. Throws when something hides elsewhere: a property, a
 * value or a pattern without it is another one than the server knows.
 */
export function plainSchema(schema: JsonObject): JsonObject {
  return plainPart(schema, { isForReaders: false, isValue: false }) as JsonObject;
}

interface Place {
  isForReaders: boolean;
  isValue: boolean;
}

function plainPart(part: JsonValue, { isForReaders, isValue }: Place): JsonValue {
  if (typeof part === "string") return isForReaders ? withoutHiddenText(part) : unchanged(part);
  if (typeof part !== "object" || part === null) return part;
  if (Array.isArray(part)) return part.map((entry) => plainPart(entry, { isForReaders: false, isValue }));
  const entries = Object.entries(part).map(([name, value]) => {
    const place = {
      isForReaders: !isValue && wordsForReaders.has(name),
      isValue: isValue || valuesForTools.has(name),
    };
    return [unchanged(name), plainPart(value, place)] as const;
  });
  return Object.fromEntries(entries);
}

function unchanged(text: string): string {
  if (withoutHiddenText(text) === text) return text;
  throw new HiddenTextError("A name or value has hidden characters in it.");
}
