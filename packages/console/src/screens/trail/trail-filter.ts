import type { AdminOutput } from "turnpike-host/management";
import type { AuditEvent } from "turnpike/contracts";
import { principalText } from "../../base/words.ts";

/** One row of the trail. */
export type TrailRow = AdminOutput<"listAudit">["events"][number];

const names = ["from", "until", "actor", "type", "outcome", "traceId"] as const;

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

/** Whether a row that has just come is one of those; the host decides about all others. */
export function matches(event: AuditEvent, { from, until, actor, type, outcome, traceId }: TrailFilter): boolean {
  const at = Date.parse(event.at);
  return (
    (from === undefined || at >= Date.parse(from)) &&
    (until === undefined || at < Date.parse(until)) &&
    (actor === undefined || principalText(event.actor) === actor) &&
    (type === undefined || event.type === type) &&
    (outcome === undefined || event.outcome === outcome) &&
    (traceId === undefined || event.traceId === traceId)
  );
}

/** Where a row is on the trail: no two have the same. */
export function keyOf({ strand, sequence }: Pick<TrailRow, "strand" | "sequence">): string {
  return `${strand}:${sequence}`;
}
