import { describe, expect, test } from "vitest";
import { now } from "../../test/deployment.ts";
import type { ErrorObject, ToolResult } from "../contracts/index.ts";
import { openQuestion } from "./approval.ts";

const common = { callId: "call-1", tool: "files.write", completedAt: now };
const question = { escalationId: "question-1", expiresAt: "2026-01-02T00:00:00Z" };

function refused(status: "denied" | "failed", error: Partial<ErrorObject>): ToolResult {
  return { ...common, status, error: { code: "approval_required", message: "A person has to say yes.", ...error } };
}

describe("a result", () => {
  const rows: { name: string; result: ToolResult; asks: boolean }[] = [
    { name: "that needs a yes and names its question", result: refused("denied", { details: question }), asks: true },
    { name: "that needs a yes when nobody could be asked", result: refused("denied", {}), asks: false },
    {
      name: "that names no question by its id",
      result: refused("denied", { details: { expiresAt: question.expiresAt } }),
      asks: false,
    },
    {
      name: "that names a question without an end",
      result: refused("denied", { details: { escalationId: question.escalationId } }),
      asks: false,
    },
    {
      name: "that is denied for another reason",
      result: refused("denied", { code: "approval_denied", details: question }),
      asks: false,
    },
    { name: "of a call that failed", result: refused("failed", { details: question }), asks: false },
    { name: "of a call that succeeded", result: { ...common, status: "succeeded", output: question }, asks: false },
  ];
  for (const { name, result, asks } of rows)
    test(`${name} ${asks ? "waits for it" : "waits for nobody"}`, () => {
      expect(openQuestion(result)).toStrictEqual(
        asks ? { id: "question-1", expiresAt: "2026-01-02T00:00:00Z" } : undefined,
      );
    });
});
