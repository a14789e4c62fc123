import { describe, expect, test } from "vitest";
import { now } from "../../test/deployment.ts";
import type { ErrorObject, ToolResult } from "../contracts/index.ts";
import { openEscalation } from "./approval.ts";

const common = { callId: "call-1", tool: "files.write", completedAt: now };
const details = { escalationId: "escalation-1", expiresAt: "2026-01-02T00:00:00Z" };

function refused(status: "denied" | "failed", error: Partial<ErrorObject>): ToolResult {
  return { ...common, status, error: { code: "approval_required", message: "A person has to approve.", ...error } };
}

describe("a result", () => {
  const rows: { name: string; result: ToolResult; asks: boolean }[] = [
    {
      name: "that needs an approval and names its escalation",
      result: refused("denied", { details }),
      asks: true,
    },
    { name: "that needs an approval when no person could be asked", result: refused("denied", {}), asks: false },
    {
      name: "that names no escalation by its id",
      result: refused("denied", { details: { expiresAt: details.expiresAt } }),
      asks: false,
    },
    {
      name: "that names an escalation without an end",
      result: refused("denied", { details: { escalationId: details.escalationId } }),
      asks: false,
    },
    {
      name: "that is denied for another reason",
      result: refused("denied", { code: "approval_denied", details }),
      asks: false,
    },
    { name: "of a call that failed", result: refused("failed", { details }), asks: false },
    { name: "of a call that succeeded", result: { ...common, status: "succeeded", output: details }, asks: false },
  ];
  for (const { name, result, asks } of rows)
    test(`${name} ${asks ? "waits for it" : "waits for no one"}`, () => {
      expect(openEscalation(result)).toStrictEqual(
        asks ? { id: "escalation-1", expiresAt: "2026-01-02T00:00:00Z" } : undefined,
      );
    });
});
