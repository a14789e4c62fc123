import { createHash } from "node:crypto";
import { principalKey } from "turnpike/contracts";
import type { Inbox } from "./message-store.ts";

/** A place in an inbox as a caller carries it. In another inbox it is none. */
export function writeCursor({ namespaceId, receiver }: Inbox, sequence: number): string {
  const whose = JSON.stringify([namespaceId, principalKey(receiver)]);
  return `${sequence}-${createHash("sha256").update(whose).digest("hex").slice(0, 16)}`;
}

/** The sequence that a cursor stands for; undefined when it is not one of this inbox. */
export function readCursor(inbox: Inbox, cursor: string): number | undefined {
  const [digits] = /^\d{1,15}(?=-)/.exec(cursor) ?? [];
  if (digits === undefined) return undefined;
  const sequence = Number(digits);
  return cursor === writeCursor(inbox, sequence) ? sequence : undefined;
}
