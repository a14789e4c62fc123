import type { JsonObject, JsonValue } from "turnpike/contracts";
import { truncateText, withoutHiddenText } from "../shared/index.ts";

/** A server's text without hidden characters, truncated to the limit. */
export function plainText(text: string, maxLength: number): string {
  return truncateText(withoutHiddenText(text), maxLength);
}

/** A server's JSON without hidden characters in texts and names. Throws when two names differ only in hidden characters. */
export function plainJson(value: JsonValue): JsonValue {
  if (typeof value === "string") return withoutHiddenText(value);
  if (typeof value !== "object" || value === null) return value;
  if (Array.isArray(value)) return value.map(plainJson);
  const plain = Object.entries(value).map(([name, part]) => [withoutHiddenText(name), plainJson(part)] as const);
  if (new Set(plain.map(([name]) => name)).size < plain.length) throw new HiddenTextError("Two names read alike.");
  return Object.fromEntries(plain);
}

/** There are hidden characters where removing them would change the meaning. */
export class HiddenTextError extends Error {
  override readonly name = "HiddenTextError";
}

/** Keywords of a schema whose texts are only for readers. */
const wordsForReaders = new Set(["title", "description", "$comment"]);
/** Keywords of a schema below which everything is a value for the tool. */
const valuesForTools = new Set(["enum", "const", "default", "examples"]);

/**
 * A server's schema without hidden characters in the texts for readers. Throws for hidden characters elsewhere, because a
 * property, a value or a pattern without them would not be the server's any more.
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
