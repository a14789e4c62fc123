import { sha256, type JsonValue } from "turnpike/contracts";
import type { z } from "zod";
import { badCursor } from "./file-errors.ts";

/** Writes down where a list goes on. The key must name nothing but what the caller was shown. */
export function writeCursor(question: JsonValue, key: JsonValue): string {
  return Buffer.from(JSON.stringify([seal(question, key), key])).toString("base64url");
}

/** The key of a cursor that this very question was answered with; any other cursor is refused. */
export function readCursor<Key extends JsonValue>(
  question: JsonValue,
  cursor: string | undefined,
  schema: z.ZodType<Key>,
): Key | undefined {
  if (cursor === undefined) return undefined;
  const key = schema.safeParse(keyOf(cursor));
  // Compared as it was handed out: base64 has several texts for one value.
  if (!key.success || writeCursor(question, key.data) !== cursor) throw badCursor();
  return key.data;
}

function keyOf(cursor: string): unknown {
  try {
    const read: unknown = JSON.parse(Buffer.from(cursor, "base64url").toString());
    return Array.isArray(read) ? (read as unknown[])[1] : undefined;
  } catch {
    return undefined;
  }
}

function seal(question: JsonValue, key: JsonValue): string {
  return sha256(JSON.stringify([question, key])).slice(0, 16);
}
