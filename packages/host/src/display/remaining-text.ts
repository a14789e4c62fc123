import type { PrincipalRef } from "turnpike/contracts";
import { principalText } from "./names.ts";
import { partiesText } from "./party-text.ts";

/** Something that a credential left behind. */
type Remaining =
  | { kind: "session"; id: string; createdAt: string; expiresAt: string }
  | { kind: "turn"; executionId: string; actor: PrincipalRef; status: string; startedAt: string; triedBy?: unknown }
  | { kind: "approval" | "permit"; escalationId: string; expiresAt: string }
  | { kind: "grant"; grantId: string; subject: PrincipalRef; expiresAt?: string | undefined };

/** How many of each kind ended. */
interface Ended {
  sessions: number;
  turns: number;
  approvals: number;
  permits: number;
  grants: number;
}

/** The name by which an operator finds it. */
export function remainingId(one: Remaining): string {
  if (one.kind === "session") return one.id;
  if (one.kind === "turn") return one.executionId;
  return one.kind === "grant" ? one.grantId : one.escalationId;
}

/** What it is, in a few words. */
export function remainingText(one: Remaining): string {
  switch (one.kind) {
    case "session":
      return `since ${one.createdAt}, until ${one.expiresAt}`;
    case "turn":
      return [`${one.status}, of ${principalText(one.actor)} since ${one.startedAt}`, partiesText(one)]
        .filter(Boolean)
        .join(", ");
    case "approval":
      return `waits for another approval until ${one.expiresAt}`;
    case "permit":
      return `not used, until ${one.expiresAt}`;
    case "grant":
      return `to ${principalText(one.subject)}${one.expiresAt === undefined ? "" : `, until ${one.expiresAt}`}`;
  }
}

/** What ended, as a list: `1 session, 3 grants`. Empty when nothing did. */
export function endedText({ sessions, turns, approvals, permits, grants }: Ended): string {
  return [
    counted(sessions, "session"),
    counted(turns, "turn"),
    counted(approvals, "approval", " that waited"),
    counted(permits, "unused permit"),
    counted(grants, "grant"),
  ]
    .filter(Boolean)
    .join(", ");
}

function counted(count: number, what: string, more = ""): string {
  return count === 0 ? "" : `${count} ${what}${count === 1 ? "" : "s"}${more}`;
}
