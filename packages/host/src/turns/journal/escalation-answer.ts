import type { ErrorCode, ToolResult } from "turnpike/contracts";
import { errorObject } from "turnpike/kernel";
import { escalationToolName, type JournalEntry } from "turnpike/runtime";
import { closedText } from "../../display/index.ts";
import type { ClosedReason } from "../../admin-contract/index.ts";
import type { WaitContent } from "./turn-rows.ts";

/** How an escalation was answered. */
export interface EscalationAnswer {
  namespaceId: string;
  id: string;
  status: "approved" | "denied" | "expired" | "withdrawn" | "closed";
  /** Why it was closed, if it was. */
  reason?: ClosedReason | undefined;
  /** If it was approved: the grant that was issued, and until when it lasts. */
  grantId?: string | undefined;
  grantExpiresAt?: string | undefined;
  now: string;
}

/** The entries that an answer adds to the journal of a turn that waits for it. */
export function entriesOfAnswer({ callId, approval }: WaitContent, answer: EscalationAnswer): JournalEntry[] {
  if (approval === undefined) return [{ kind: "answered", callId, result: resultOf(callId, answer) }];
  // The kernel finds a valid approval by itself. A denial is recorded, because it may lapse before the turn is resumed. A
  // withdrawn approval is requested again. A closed escalation is no answer: the kernel reports what is missing.
  if (["approved", "withdrawn", "closed"].includes(answer.status)) return [];
  const code: ErrorCode = answer.status === "denied" ? "approval_denied" : "approval_expired";
  const { tool } = approval;
  const result: ToolResult = { status: "denied", callId, tool, completedAt: answer.now, error: errorObject(code) };
  return [{ kind: "result", callId, result }];
}

/** The result of a call that escalated by itself. */
function resultOf(callId: string, { status, reason, grantId, grantExpiresAt, now }: EscalationAnswer): ToolResult {
  const common = { callId, tool: escalationToolName, completedAt: now };
  switch (status) {
    case "approved": {
      const expiresAt = grantExpiresAt === undefined ? {} : { expiresAt: grantExpiresAt };
      return { ...common, status: "succeeded", output: { answer: "approved", grantId: grantId ?? "", ...expiresAt } };
    }
    case "denied":
      return {
        ...common,
        status: "denied",
        error: { code: "escalation_denied", message: "The escalation was denied." },
      };
    case "withdrawn": {
      const message = "The escalation was approved, and the approval was withdrawn.";
      return { ...common, status: "denied", error: { code: "escalation_denied", message } };
    }
    case "closed": {
      const why = reason === undefined ? "what it depended on is gone" : closedText({ reason });
      const message = `The escalation can no longer be answered: ${why}.`;
      return { ...common, status: "denied", error: { code: "escalation_expired", message } };
    }
    case "expired": {
      const message = "The escalation was not answered in time.";
      return { ...common, status: "denied", error: { code: "escalation_expired", message } };
    }
  }
}
