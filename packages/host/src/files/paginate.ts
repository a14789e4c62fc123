import type { JsonValue } from "turnpike/contracts";
import { sha256 } from "../shared/index.ts";
import { z } from "zod";
import { badCursor } from "./file-errors.ts";

/** The input of every action that lists. */
export const pageInput = {
  limit: z.int().min(1).max(1000).default(100),
  cursor: z.string().max(200_000).optional().describe("the cursor of the page before; without it, from the beginning"),
};

/** The output of every action that lists: where the next page begins. */
export const pageOutput = { cursor: z.string().optional().describe("there is more: pass it as `cursor`") };

/** One page of a list. */
export interface Page<Item> {
  items: Item[];
  hasMore: boolean;
}

/** The first items that may be shown. Hidden items leave no gap, so the caller does not learn that they exist. */
export async function paginate<Item>(
  candidates: AsyncIterable<Item> | Iterable<Item>,
  limit: number,
  isShown: (item: Item) => Promise<boolean>,
): Promise<Page<Item>> {
  const items: Item[] = [];
  for await (const item of candidates) {
    if (!(await isShown(item))) continue;
    if (items.length === limit) return { items, hasMore: true };
    items.push(item);
  }
  return { items, hasMore: false };
}

/** Makes the cursor from which a list continues. The key must name only what the caller was shown. */
export function writeCursor(request: JsonValue, key: JsonValue): string {
  return Buffer.from(JSON.stringify([seal(request, key), key])).toString("base64url");
}

/** The key inside a cursor. A cursor that was not made for this very request is refused. */
export function readCursor<Key extends JsonValue>(
  request: JsonValue,
  cursor: string | undefined,
  schema: z.ZodType<Key>,
): Key | undefined {
  if (cursor === undefined) return undefined;
  const key = schema.safeParse(keyOf(cursor));
  // The texts are compared, because base64 has several texts for one value.
  if (!key.success || writeCursor(request, key.data) !== cursor) throw badCursor();
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

function seal(request: JsonValue, key: JsonValue): string {
  return sha256(JSON.stringify([request, key])).slice(0, 16);
}
