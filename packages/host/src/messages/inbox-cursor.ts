import { createHash } from "node:crypto";
import { principalKey } from "turnpike/contracts";
import type { Inbox } from "./message-store.ts";

/** The cursor of a position in an inbox. It is valid only for this inbox. */
export function writeCursor({ namespaceId, receiver }: Inbox, sequence: number): string {
  const whose = JSON.stringify([namespaceId, principalKey(receiver)]);
  return `${sequence}-${createHash("sha256").update(whose).digest("hex").slice(0, 16)}`;
}

/** The sequence in a cursor; undefined when it is not a cursor of this inbox. */
export function readCursor(inbox: Inbox, cursor: string): number | undefined {
  const [digits] = /^\d{1,15}(?=-)/.exec(cursor) ?? [];
  if (digits === undefined) return undefined;
  const sequence = Number(digits);
  return cursor === writeCursor(inbox, sequence) ? sequence : undefined;
}
