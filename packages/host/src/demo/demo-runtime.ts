import type { JsonValue, ToolCall, ToolResult } from "turnpike/contracts";
import { standardRuntime, type RuntimePlugin, type RuntimeTurn, type TurnDriver } from "turnpike/runtime";

/**
 * The demo's driver, without a model: reads the file that the message asks for (`{ "read": "notes/todo.md" }`) and says
 * what became of it.
 */
const driver: TurnDriver = {
  manifest: { id: "scripted", version: "1" },
  open: (turn) =>
    Promise.resolve({
      next: (input) =>
        Promise.resolve(
          input.type === "start"
            ? { type: "tools", calls: [readCall(turn)] }
            : { type: "complete", output: input.results.map(summary) },
        ),
    }),
};

/** Runs the demo's turns. */
export const demoRuntime: RuntimePlugin = standardRuntime(driver);

function readCall({ message, executionId }: RuntimeTurn): ToolCall {
  const { payload } = message;
  const wish = typeof payload === "object" && payload !== null && !Array.isArray(payload) ? payload["read"] : undefined;
  return {
    id: `${executionId}-read`,
    tool: "files.read",
    arguments: { path: typeof wish === "string" ? wish : "notes/todo.md" },
    requestedAt: message.createdAt,
    traceId: message.traceId,
  };
}

function summary(result: ToolResult): JsonValue {
  return result.status === "succeeded" ? result.output : { [result.status]: result.error.code };
}
