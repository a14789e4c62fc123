import { EscalationInputSchema } from "../contracts/index.ts";
import { defineTool, ToolError, type ToolHandler } from "../kernel/index.ts";

/** The tool whose presence in the catalog allows a turn to escalate. */
export const escalationToolName = "service.escalate";

/**
 * The tool to ask the owner, which a host registers. A runtime makes a call of it the turn's outcome. Outside of a turn a call
 * fails, because only a turn can end with an escalation.
 *
 * @example
 * import { escalationTool } from "turnpike/runtime";
 *
 * console.log(escalationTool().descriptor.name); // service.escalate
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
        "Only a turn can escalate, and this call is not part of one. Ask the person who gave you access.",
      );
    },
  });
}
