import type { Escalation, PrincipalRef, ToolResult } from "../contracts/index.ts";
import type { EscalationRef } from "../kernel/index.ts";

/** The escalation in a result of the kernel; undefined unless it opened one instead of making the call. */
export function openEscalation(result: ToolResult): EscalationRef | undefined {
  if (result.status !== "denied" || result.error.code !== "approval_required") return undefined;
  const { escalationId, expiresAt } = (result.error.details ?? {}) as Record<string, unknown>;
  return typeof escalationId === "string" && typeof expiresAt === "string"
    ? { id: escalationId, expiresAt }
    : undefined;
}

/** The escalation that the state of a turn shows while a call waits for approval. It never has the call's arguments. */
export function approvalEscalation(tool: string, requestedAt: string, reviewer: PrincipalRef): Escalation {
  return { status: "pending", reason: `${tool} needs a person's approval.`, requestedAt, reviewer };
}
