import type { Capability, JsonObject, JsonValue, ToolCall, ToolResult } from "turnpike/contracts";
import {
  escalationToolName,
  standardRuntime,
  type RuntimePlugin,
  type RuntimeTurn,
  type TurnDriver,
} from "turnpike/runtime";

/**
 * The demo's driver, which needs no model. It reads the file that the message names (`{ "read": "notes/todo.md" }`), or pays
 * what it says (`{ "pay": { "to": "bob", "amount": 20 } }`), and returns the result. When reading is denied, it escalates if
 * it may, and reads again after an approval.
 */
const driver: TurnDriver = {
  manifest: { id: "scripted", version: "1" },
  resumes: (version) => version === "1",
  isPure: true,
  open(turn) {
    const path = pathOf(turn);
    const payment = wishOf(turn, "pay");
    const first = payment === undefined ? readCall(turn, path, "read") : callOf(turn, "payments.pay", payment, "pay");
    const mayEscalate = turn.tools.some(({ name }) => name === escalationToolName);
    return Promise.resolve({
      next(input) {
        if (input.type === "start") return Promise.resolve({ type: "tools", calls: [first] });
        const [result] = input.results;
        if (result?.tool === escalationToolName && result.status === "succeeded")
          return Promise.resolve({ type: "tools", calls: [readCall(turn, path, "read-again")] });
        const isDenied = result?.status === "denied" && result.callId === `${turn.executionId}-read`;
        if (!isDenied || !mayEscalate) return Promise.resolve({ type: "complete", output: input.results.map(summary) });
        const requestedAuthority = { capabilities: [toRead(path)] };
        return Promise.resolve({ type: "escalate", reason: `I was asked to read ${path}.`, requestedAuthority });
      },
    });
  },
};

/** Runs the demo's turns. */
export const demoRuntime: RuntimePlugin = standardRuntime(driver);

function pathOf(turn: RuntimeTurn): string {
  const path = wishOf(turn, "read");
  return typeof path === "string" ? path : "notes/todo.md";
}

/** What the message wants under this name. */
function wishOf({ message: { payload } }: RuntimeTurn, name: string): JsonValue | undefined {
  return isObject(payload) ? payload[name] : undefined;
}

function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function readCall(turn: RuntimeTurn, path: string, name: string): ToolCall {
  return callOf(turn, "files.read", { path }, name);
}

function callOf({ message, executionId }: RuntimeTurn, tool: string, wish: JsonValue, name: string): ToolCall {
  return {
    id: `${executionId}-${name}`,
    tool,
    arguments: isObject(wish) ? wish : {},
    requestedAt: message.createdAt,
    traceId: message.traceId,
  };
}

function toRead(path: string): Capability {
  const segments = path.split("/").filter((segment) => segment !== "");
  return { resource: { namespace: "files", path: segments }, actions: ["read"], scope: "exact" };
}

function summary(result: ToolResult): JsonValue {
  return result.status === "succeeded" ? result.output : { [result.status]: result.error.code };
}
