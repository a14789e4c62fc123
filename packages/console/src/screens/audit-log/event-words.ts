import type { AuditEvent } from "turnpike/contracts";
import { aboutText, partiesText, principalText } from "../../shared/words.ts";

/** What the actor did, as text after their name, such as `called files.read`. It can contain texts of agents. */
export function eventText(event: AuditEvent): string {
  const parties = partiesText(event.metadata);
  return `${deedText(event)}${parties === "" ? "" : ` (${parties})`}`;
}

function deedText(event: AuditEvent): string {
  const { type, tool = "a tool", receiver } = event;
  const about = aboutText(event);
  const to = receiver === undefined ? "" : principalText(receiver);
  switch (type) {
    case "authorization.checked":
      return `${maySay(event)} ${event.action ? about : `do that ${about}`.trim()}${event.tool ? ` with ${event.tool}` : ""}`;
    case "tool.invoked":
      return withOutcome(event, "called", tool);
    case "resource.invoked":
      return withOutcome(event, "did", about);
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
    case "act.finished":
      return withOutcome(event, "carried out", tool);
    case "turn.started":
      // A turn that is allowed begins with this row.
      return event.outcome === "allowed" ? "began a turn" : withOutcome(event, "began", "a turn");
    case "turn.ended":
      return `ended the turn: ${event.outcome}`;
    case "escalation.requested":
      return `asked ${to || "a person"}${about && ` about ${about}`}`;
    case "operator.changed":
      return withOutcome(event, "did", `${about}${to && ` for ${to}`}`);
  }
}

/** A decision; of one that only shadowed, what it would have been. */
function maySay({ outcome, metadata }: AuditEvent): string {
  if (outcome !== "shadow") return outcome === "allowed" ? "may" : "may not";
  return metadata?.["shadow"] === "allowed" ? "would have been allowed to" : "would not have been allowed to";
}

/** An effect with its outcome. An event `allowed` is written before the effect, and says only that the effect may happen. */
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
    case "shadow":
      return `${did} ${what}, in shadow`;
  }
}
