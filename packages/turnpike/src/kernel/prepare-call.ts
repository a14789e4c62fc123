import {
  AuthorizationRequestSchema,
  ErrorObjectSchema,
  type AccessContext,
  type AuthorizationRequest,
  type ErrorCode,
  type ErrorObject,
  type JsonObject,
  type ToolCall,
} from "../contracts/index.ts";
import { boundedArray, check, checkJsonObject, quietly } from "../internal/index.ts";
import type { Requirements } from "./authorize-every.ts";
import { reportPortError, type Ports } from "./call-port.ts";
import { isWithinCeiling } from "./match.ts";
import { ToolError } from "./tool.ts";
import type { Tool } from "./tool-catalog.ts";

/** A call that can be decided, or why it cannot. */
type Prepared =
  /** `several` are all requirements of a call that has more than one. */
  | { kind: "ready"; args: JsonObject; requirement: AuthorizationRequest; several?: Requirements }
  /** The tool itself denies this call to every caller. */
  | { kind: "denied"; error: ErrorObject }
  | { kind: "failed"; code: ErrorCode; message?: string };

/** How many requirements one call may have. */
const maxRequirements = 64;

const RequirementsSchema = boundedArray(AuthorizationRequestSchema, { min: 1, max: maxRequirements });

/** The arguments as the tool parsed them, and exactly what the call needs. */
export function prepareCall(ports: Ports, tool: Tool, context: AccessContext, call: ToolCall): Prepared {
  const { ceiling, handler } = tool;
  let parsed: unknown;
  try {
    parsed = handler.parse(call.arguments);
  } catch (error) {
    const message = asToolError(error)?.message;
    if (message === undefined) return misbehaved(ports, call, "invalid_tool_arguments", error);
    return { kind: "failed", code: "invalid_tool_arguments", message };
  }
  const args = checkJsonObject(parsed);
  if (!args.ok) {
    const error = new TypeError(`No JSON was parsed: ${args.message}`);
    return misbehaved(ports, call, "invalid_tool_arguments", error, parsed);
  }

  let required: unknown;
  try {
    if (handler.requirement === undefined) return { kind: "ready", args: args.value, requirement: ceiling };
    required = handler.requirement(context, args.value);
  } catch (error) {
    return denialBy(error) ?? misbehaved(ports, call, "tool_requirement_resolution_failed", error);
  }
  if (isList(required)) return prepareSeveral(ports, tool, context, call, { args: args.value, required });
  const requirement = check(AuthorizationRequestSchema, required);
  if (!requirement.ok)
    return misbehaved(ports, call, "invalid_tool_requirement", new TypeError(requirement.message), required);
  if (!isWithinCeiling(requirement.value, ceiling, context.owner)) return exceeds(ports, call);
  return { kind: "ready", args: args.value, requirement: requirement.value };
}

function prepareSeveral(
  ports: Ports,
  { ceiling }: Tool,
  { owner }: AccessContext,
  call: ToolCall,
  { args, required }: { args: JsonObject; required: unknown },
): Prepared {
  const checked = check(RequirementsSchema, required);
  if (!checked.ok) return misbehaved(ports, call, "invalid_tool_requirement", new TypeError(checked.message));
  if (!checked.value.every((one) => isWithinCeiling(one, ceiling, owner))) return exceeds(ports, call);
  // Requirements within one ceiling differ only in their paths.
  const distinct = new Map(checked.value.map((one) => [JSON.stringify(one.resource.path), one]));
  const [requirement = ceiling, ...others] = distinct.values();
  const ready = { kind: "ready", args, requirement } as const;
  return others.length === 0 ? ready : { ...ready, several: [requirement, ...others] };
}

function exceeds(ports: Ports, call: ToolCall): Prepared {
  const error = new RangeError("The requirement exceeds the declared capability.");
  return misbehaved(ports, call, "invalid_tool_requirement", error);
}

function misbehaved(ports: Ports, call: ToolCall, code: ErrorCode, error: unknown, returned?: unknown): Prepared {
  quietly(() => returned);
  reportPortError(ports, error, { port: "tools", id: call.tool });
  return { kind: "failed", code };
}

/** The denial of a `ToolError`; undefined for any other error, and for one whose code or message fits no result. */
function denialBy(error: unknown): Prepared | undefined {
  const said = asToolError(error);
  if (said === undefined) return undefined;
  const { code, message, retryable } = said;
  const checked = check(ErrorObjectSchema, { code, message, ...(retryable !== undefined && { retryable }) });
  return checked.ok ? { kind: "denied", error: checked.value } : undefined;
}

/** Undefined for any other error, and for one that throws when it is read. */
function asToolError(error: unknown): Pick<ToolError, "code" | "message" | "retryable"> | undefined {
  try {
    if (!(error instanceof ToolError)) return undefined;
    const { code, message, retryable } = error;
    return { code, message, retryable };
  } catch {
    return undefined;
  }
}

/** Returns false for a value that throws when it is read. */
function isList(value: unknown): boolean {
  try {
    return Array.isArray(value);
  } catch {
    return false;
  }
}
