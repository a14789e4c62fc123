import type { Gate } from "turnpike/client";
import { createGovernor } from "../core/index.ts";
import { governorOf } from "./govern.ts";

/** The answer of a `toolApproval` of the AI SDK 7. */
export type ToolApproval = { type: "user-approval"; reason: string } | { type: "not-applicable" };

/** What the AI SDK 7 gives it. */
interface ApprovalRequest {
  toolCall: { toolName: string; toolCallId: string; input: unknown };
  tools?: object | undefined;
}

/**
 * `toolApproval` for the AI SDK 7: a call that a person has to approve at the gate stops the run until then. It reads the needs of
 * tools off those that `govern` returned.
 */
export function approvals(gate: Gate): (request: ApprovalRequest) => Promise<ToolApproval> {
  return async ({ toolCall: { toolName, toolCallId, input }, tools }) => {
    const tool = (tools as Record<string, object> | undefined)?.[toolName];
    const governor = governorOf(tool) ?? createGovernor(gate, [toolName], {});
    const isAsked = await governor.asks({ tool: toolName, id: toolCallId, arguments: input });
    return isAsked ? { type: "user-approval", reason: "A person has to approve it at the gate." } : notApplicable;
  };
}

const notApplicable = { type: "not-applicable" } as const;
