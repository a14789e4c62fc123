import type { TurnState } from "turnpike/contracts";
import { spanText } from "../../shared/instants.ts";
import { principalText } from "../../shared/words.ts";

/** What a list says of a turn besides its state: whom it waits for, or why it did not succeed. */
export function noteText({ status, escalation, result }: TurnState): string {
  if (status === "waiting" && escalation !== undefined)
    return `for ${principalText(escalation.reviewer)}: ${escalation.reason}`;
  if (result?.status === "escalated") return result.escalation.reason;
  return result === undefined || result.status === "succeeded" ? "" : (result.error?.code ?? "");
}

/** How long a turn took, or how long it has been running. */
export function tookText({ startedAt, completedAt }: TurnState, now: number): string {
  return spanText((completedAt === undefined ? now : Date.parse(completedAt)) - Date.parse(startedAt));
}

/** Whether a turn is over. */
export function isOver({ status }: Pick<TurnState, "status">): boolean {
  return status !== "running" && status !== "waiting";
}
