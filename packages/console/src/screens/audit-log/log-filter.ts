import type { AdminOutput } from "turnpike-host/admin-contract";
import type { EventFilter } from "turnpike-host/admin-contract/event-filter";
import type { AuditEvent } from "turnpike/contracts";

/** One row of the audit log. */
export type LogRow = AdminOutput<"listAudit">["events"][number];

const names = [
  "from",
  "until",
  "actor",
  "type",
  "outcome",
  "traceId",
  "resource",
  "tool",
  "grant",
  "reason",
  "text",
] as const satisfies (keyof EventFilter)[];

/** Which rows of the audit log the operator wants to see, as the address and the API name it. */
export type LogFilter = Partial<Record<(typeof names)[number], string>>;

export const eventTypes: readonly AuditEvent["type"][] = [
  "authorization.checked",
  "tool.invoked",
  "resource.invoked",
  "message.sent",
  "act.finished",
  "turn.started",
  "turn.ended",
  "escalation.requested",
  "operator.changed",
  "tool.catalog.listed",
  "tool.namespaces.listed",
  "tool.namespaces.updated",
  "reach.read",
];

export const eventOutcomes: readonly AuditEvent["outcome"][] = [
  "allowed",
  "denied",
  "succeeded",
  "failed",
  "cancelled",
  "escalated",
  "shadow",
];

/** The filter in an address. */
export function filterOf(query: URLSearchParams): LogFilter {
  return Object.fromEntries(names.flatMap((name) => (query.get(name) ? [[name, query.get(name)]] : []))) as LogFilter;
}

/** Where a row is in the audit log: no two have the same. */
export function keyOf({ strand, sequence }: Pick<LogRow, "strand" | "sequence">): string {
  return `${strand}:${sequence}`;
}
