import type { Escalation, PrincipalRef, ToolResult } from "../contracts/index.ts";
import type { Question } from "../kernel/index.ts";

/** The question that the kernel asked about a call instead of making it; undefined when nobody was asked. */
export function openQuestion(result: ToolResult): Question | undefined {
  if (result.status !== "denied" || result.error.code !== "approval_required") return undefined;
  const { escalationId, expiresAt } = (result.error.details ?? {}) as Record<string, unknown>;
  return typeof escalationId === "string" && typeof expiresAt === "string"
    ? { id: escalationId, expiresAt }
    : undefined;
}

/** What the state of a turn says while a call waits for a yes. It never says with which arguments. */
export function approvalEscalation(tool: string, requestedAt: string, reviewer: PrincipalRef): Escalation {
  return { status: "pending", reason: `${tool} needs a person's yes.`, requestedAt, reviewer };
}
