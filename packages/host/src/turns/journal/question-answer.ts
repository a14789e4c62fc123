import type { ErrorCode, ToolResult } from "turnpike/contracts";
import { errorObject } from "turnpike/kernel";
import { escalationToolName, type JournalEntry } from "turnpike/runtime";
import type { QuestionContent } from "./turn-rows.ts";

/** How a question was answered. */
export interface QuestionAnswer {
  namespaceId: string;
  id: string;
  status: "approved" | "denied" | "expired" | "withdrawn";
  /** Of an approved escalation: the grant that was issued, and until when it lasts. */
  grantId?: string | undefined;
  grantExpiresAt?: string | undefined;
  now: string;
}

/** What an answer leaves in the journal of a turn that waits for it. */
export function entriesOfAnswer({ callId, approval }: QuestionContent, answer: QuestionAnswer): JournalEntry[] {
  if (approval === undefined) return [{ kind: "answered", callId, result: resultOf(callId, answer) }];
  // The kernel finds the yes by itself, as long as it counts. A no is kept, however long nobody goes on with the turn.
  // One that was taken back is asked for again.
  if (answer.status === "approved" || answer.status === "withdrawn") return [];
  const code: ErrorCode = answer.status === "denied" ? "approval_denied" : "approval_expired";
  const { tool } = approval;
  const result: ToolResult = { status: "denied", callId, tool, completedAt: answer.now, error: errorObject(code) };
  return [{ kind: "result", callId, result }];
}

/** The result of a call that asked by itself. */
function resultOf(callId: string, { status, grantId, grantExpiresAt, now }: QuestionAnswer): ToolResult {
  const common = { callId, tool: escalationToolName, completedAt: now };
  switch (status) {
    case "approved": {
      const expiresAt = grantExpiresAt === undefined ? {} : { expiresAt: grantExpiresAt };
      return { ...common, status: "succeeded", output: { answer: "approved", grantId: grantId ?? "", ...expiresAt } };
    }
    case "denied":
      return { ...common, status: "denied", error: { code: "escalation_denied", message: "The answer was no." } };
    case "withdrawn": {
      const message = "The answer was yes, and was taken back.";
      return { ...common, status: "denied", error: { code: "escalation_denied", message } };
    }
    case "expired": {
      const message = "Nobody answered the escalation in time.";
      return { ...common, status: "denied", error: { code: "escalation_expired", message } };
    }
  }
}
