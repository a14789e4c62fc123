import type { AuditEvent } from "turnpike/contracts";
import { principalText } from "../../shared/words.ts";
import type { LogRow } from "./log-filter.ts";

/** One line of the audit log: a call with its decision and its outcome, or one row alone. The newest row is first. */
export type LogEntry = readonly LogRow[];

/** Which call an event is part of; undefined for one that is alone. */
export function callOf(event: AuditEvent): string | undefined {
  const { type, traceId, actor, operationId, messageId, action, grantId, receiver, metadata } = event;
  const id = operationId ?? messageId;
  if (id !== undefined) return JSON.stringify([traceId, principalText(actor), id]);
  // An operator's change has no id: it is told from others of the same request by what it changes.
  if (type !== "operator.changed") return undefined;
  return JSON.stringify([traceId, principalText(actor), action, grantId, receiver, metadata]);
}

/** Folds rows, the newest first, into entries: each call where its newest row is. */
export function foldRows(rows: readonly LogRow[]): LogEntry[] {
  const entries: LogRow[][] = [];
  const known = new Map<string, LogRow[]>();
  for (const row of rows) {
    const call = callOf(row.event);
    const entry = call === undefined ? undefined : known.get(call);
    if (entry !== undefined) {
      entry.push(row);
      continue;
    }
    const begun = [row];
    entries.push(begun);
    if (call !== undefined) known.set(call, begun);
  }
  return entries;
}
