import type { AdminOutput } from "turnpike-host/management";
import type { EventFilter } from "turnpike-host/management/event-filter";
import type { AuditEvent } from "turnpike/contracts";

/** One row of the trail. */
export type TrailRow = AdminOutput<"listAudit">["events"][number];

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

/** Which rows of the trail somebody wants to see, as the address and the API name it. */
export type TrailFilter = Partial<Record<(typeof names)[number], string>>;

export const eventTypes: readonly AuditEvent["type"][] = [
  "authorization.checked",
  "tool.invoked",
  "resource.invoked",
  "message.sent",
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
];

/** The filter in an address. */
export function filterOf(query: URLSearchParams): TrailFilter {
  return Object.fromEntries(names.flatMap((name) => (query.get(name) ? [[name, query.get(name)]] : []))) as TrailFilter;
}

/** Where a row is on the trail: no two have the same. */
export function keyOf({ strand, sequence }: Pick<TrailRow, "strand" | "sequence">): string {
  return `${strand}:${sequence}`;
}
