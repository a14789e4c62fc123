import type { AuditEvent } from "turnpike/contracts";
import { partiesText, principalText, resourceText } from "../../base/words.ts";

/** What somebody did, behind their name: `called files.read`. It can have texts of agents in it. */
export function eventText(event: AuditEvent): string {
  const parties = partiesText(event.metadata);
  return `${deedText(event)}${parties === "" ? "" : ` (${parties})`}`;
}

function deedText(event: AuditEvent): string {
  const { type, action = "", resource, tool = "a tool", receiver } = event;
  const where = resource === undefined ? "" : ` ${resourceText(resource)}`;
  const to = receiver === undefined ? "" : principalText(receiver);
  switch (type) {
    case "authorization.checked":
      return `${event.outcome === "allowed" ? "may" : "may not"} ${action || "do that"}${where}${event.tool ? ` with ${event.tool}` : ""}`;
    case "tool.invoked":
      return withOutcome(event, "called", tool);
    case "resource.invoked":
      return withOutcome(event, "did", `${action}${where}`);
    case "message.sent":
      return withOutcome(event, "sent", `a message${to && ` to ${to}`}`);
    case "tool.catalog.listed":
      return withOutcome(event, "listed", "the tools");
    case "tool.namespaces.listed":
      return withOutcome(event, "listed", "the tool namespaces");
    case "tool.namespaces.updated":
      return withOutcome(event, "switched", "tool namespaces");
    case "reach.read":
      return withOutcome(event, "read", "what can be reached");
    case "turn.started":
      // A turn that is allowed begins with this row.
      return event.outcome === "allowed" ? "began a turn" : withOutcome(event, "began", "a turn");
    case "turn.ended":
      return `ended the turn: ${event.outcome}`;
    case "escalation.requested":
      return `asked ${to || "a person"}${action && ` about ${action}${where}`}`;
    case "operator.changed":
      return withOutcome(event, "did", `${action}${to && ` for ${to}`}`);
  }
}

/** An effect with what became of it. `allowed` is written before the effect, and says only that it may be. */
function withOutcome({ outcome }: AuditEvent, did: string, what: string): string {
  switch (outcome) {
    case "succeeded":
      return `${did} ${what}`;
    case "allowed":
      return `was allowed: ${what}`;
    case "denied":
      return `was refused: ${what}`;
    case "failed":
      return `${did} ${what}, which failed`;
    case "cancelled":
      return `${did} ${what}, which was cancelled`;
    case "escalated":
      return `${did} ${what}, which waits for a person`;
  }
}
