import { createHash } from "node:crypto";
import { principalKey, type AuditEvent } from "turnpike/contracts";
import { canonicalJson, columnText } from "../base/index.ts";
import type { Schema } from "../storage/index.ts";

/** The newest row of a chain: its number, and its hash, which covers every row before it. */
export interface Head {
  sequence: number;
  hash: string;
}

/** The head of one of a tenant's chains. A tenant has one chain today, strand 0; formats allow for several. */
export interface StrandHead extends Head {
  strand: number;
}

/** A head and whose it is, by the text that the tenant's column holds. */
export interface TenantHead extends StrandHead {
  namespaceId: string;
}

/** What the first link of a chain has in place of the hash before it. */
export const origin: string = "0".repeat(64);

/** The strand that all hosts of a database share. */
export const sharedStrand = 0;

/** The rows of events behind a head. */
export function chainRows(head: Head, events: readonly AuditEvent[]): Schema["audit"][] {
  const rows: Schema["audit"][] = [];
  for (const event of events) rows.push(rowOf(rows.at(-1) ?? head, event));
  return rows;
}

/** The row that belongs behind another with this content; undefined when that is no event. */
export function expectedRow(previous: Head, content: string): Schema["audit"] | undefined {
  try {
    return rowOf(previous, JSON.parse(content) as AuditEvent);
  } catch {
    return undefined;
  }
}

/** The row of an event behind another; every column follows from the event and what was before. */
function rowOf(previous: Head, event: AuditEvent): Schema["audit"] {
  const content = canonicalJson(event);
  const sequence = previous.sequence + 1;
  const { id, type, outcome, at } = event;
  return {
    namespace_id: columnText(event.namespaceId),
    sequence,
    id,
    type,
    outcome,
    at,
    actor: columnText(principalKey(event.actor)),
    trace_id: columnText(event.traceId),
    content,
    hash: createHash("sha256").update(`${previous.hash}\n${sequence}\n${content}`).digest("hex"),
  };
}
