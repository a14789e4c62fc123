import { hash } from "node:crypto";
import { canonicalJson, principalKey, type AuditEvent } from "turnpike/contracts";
import { columnText } from "../shared/index.ts";
import type { Schema } from "../storage/index.ts";

/** The newest row of a chain: its number, and its hash, which covers every row before it. */
export interface Head {
  sequence: number;
  hash: string;
}

/** The head of one of a tenant's chains. Each running host writes its own chain, its strand. */
export interface StrandHead extends Head {
  strand: number;
}

/** A head and its tenant, as the column stores the name. */
export interface TenantHead extends StrandHead {
  namespaceId: string;
}

/** An event as the columns store it, before it has its place in a chain. */
export type AuditEntry = Omit<Schema["audit"], "strand" | "sequence" | "hash">;

/** The previous hash of the first row of a chain. */
export const origin: string = "0".repeat(64);

/** The columns of an event; every one of them follows from it. */
export function entryOf(event: AuditEvent): AuditEntry {
  const { id, type, outcome, at } = event;
  return {
    namespace_id: columnText(event.namespaceId),
    id,
    type,
    outcome,
    at,
    actor: columnText(principalKey(event.actor)),
    trace_id: columnText(event.traceId),
    content: canonicalJson(event),
  };
}

/** The row of an entry behind another on a strand. */
export function rowBehind(previous: Head, strand: number, entry: AuditEntry): Schema["audit"] {
  const { namespace_id, id, type, outcome, at, actor, trace_id, content } = entry;
  const sequence = previous.sequence + 1;
  const link = hash("sha256", `${previous.hash}\n${sequence}\n${content}`);
  // Written out, because this runs for every event and a spread takes many times as long.
  return { namespace_id, strand, sequence, id, type, outcome, at, actor, trace_id, content, hash: link };
}

/** The row that belongs behind another with this content; undefined when that is no event. */
export function expectedRow(previous: Head, strand: number, content: string): Schema["audit"] | undefined {
  try {
    return rowBehind(previous, strand, entryOf(JSON.parse(content) as AuditEvent));
  } catch {
    return undefined;
  }
}
