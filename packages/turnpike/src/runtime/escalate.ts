import { EscalationInputSchema } from "../contracts/index.ts";
import { defineTool, ToolError, type ToolHandler } from "../kernel/index.ts";

/** The tool whose presence in the catalog allows a turn to escalate. */
export const escalationToolName = "service.escalate";

/**
 * The affordance to ask the owner, as a tool a host registers. A runtime turns a call of it into the turn's outcome;
 * called as an ordinary tool it fails, because only a turn can end with a question.
 */
export function escalationTool(): ToolHandler {
  return defineTool({
    name: escalationToolName,
    description: "Asks the owner, who may then grant what is missing. The turn ends with it, or waits for the answer.",
    namespace: "service",
    source: "turnpike",
    readWrite: "write",
    annotations: { idempotent: true },
    input: EscalationInputSchema,
    requires: { action: "request", resource: { namespace: "service", path: ["escalation"] } },
    run() {
      throw new ToolError(
        "tool_execution_failed",
        "Only a turn can escalate, and this call is not part of one. Ask whoever gave you access.",
      );
    },
  });
}
