import {
  AuthorizationRequestSchema,
  type AccessContext,
  type AuthorizationRequest,
  type ErrorCode,
  type JsonObject,
  type ToolCall,
} from "../contracts/index.ts";
import { check, checkJsonObject, quietly } from "../internal/index.ts";
import { reportPortError, type Ports } from "./call-port.ts";
import { isWithinCeiling } from "./match.ts";
import { ToolError } from "./tool.ts";
import type { Tool } from "./tool-catalog.ts";

/** A call that can be decided, or why it cannot. */
type Prepared =
  | { ok: true; args: JsonObject; requirement: AuthorizationRequest }
  | { ok: false; code: ErrorCode; message?: string };

/** The arguments as the tool parsed them, and exactly what the call needs. */
export function prepareCall(ports: Ports, tool: Tool, context: AccessContext, call: ToolCall): Prepared {
  const { ceiling, handler } = tool;
  let parsed: unknown;
  try {
    parsed = handler.parse(call.arguments);
  } catch (error) {
    const message = refusalOf(error);
    if (message === undefined) return misbehaved(ports, call, "invalid_tool_arguments", error);
    return { ok: false, code: "invalid_tool_arguments", message };
  }
  const args = checkJsonObject(parsed);
  if (!args.ok) {
    const error = new TypeError(`No JSON was parsed: ${args.message}`);
    return misbehaved(ports, call, "invalid_tool_arguments", error, parsed);
  }

  let required: unknown;
  try {
    if (handler.requirement === undefined) return { ok: true, args: args.value, requirement: ceiling };
    required = handler.requirement(context, args.value);
  } catch (error) {
    return misbehaved(ports, call, "tool_requirement_resolution_failed", error);
  }
  const requirement = check(AuthorizationRequestSchema, required);
  if (!requirement.ok)
    return misbehaved(ports, call, "invalid_tool_requirement", new TypeError(requirement.message), required);
  if (!isWithinCeiling(requirement.value, ceiling, context.owner)) {
    const error = new RangeError("The requirement exceeds the declared capability.");
    return misbehaved(ports, call, "invalid_tool_requirement", error);
  }
  return { ok: true, args: args.value, requirement: requirement.value };
}

function misbehaved(ports: Ports, call: ToolCall, code: ErrorCode, error: unknown, returned?: unknown): Prepared {
  quietly(() => returned);
  reportPortError(ports, error, { port: "tools", id: call.tool });
  return { ok: false, code };
}

/** The words of a `ToolError`; undefined for any other error, and for one that throws when it is looked at. */
function refusalOf(error: unknown): string | undefined {
  try {
    return error instanceof ToolError ? error.message : undefined;
  } catch {
    return undefined;
  }
}
