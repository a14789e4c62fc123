import type { ToolResult } from "turnpike/contracts";
import { escalationToolName } from "turnpike/runtime";

/** How a question was answered. */
export interface QuestionAnswer {
  namespaceId: string;
  id: string;
  status: "approved" | "denied" | "expired";
  /** Of an approval: the grant that was issued, and until when it lasts. */
  grantId?: string | undefined;
  grantExpiresAt?: string | undefined;
  now: string;
}

/** The result of the call that asked. */
export function resultOf(callId: string, { status, grantId, grantExpiresAt, now }: QuestionAnswer): ToolResult {
  const common = { callId, tool: escalationToolName, completedAt: now };
  switch (status) {
    case "approved": {
      const expiresAt = grantExpiresAt === undefined ? {} : { expiresAt: grantExpiresAt };
      return { ...common, status: "succeeded", output: { answer: "approved", grantId: grantId ?? "", ...expiresAt } };
    }
    case "denied":
      return { ...common, status: "denied", error: { code: "escalation_denied", message: "The answer was no." } };
    case "expired": {
      const message = "Nobody answered the escalation in time.";
      return { ...common, status: "denied", error: { code: "escalation_expired", message } };
    }
  }
}
