import type { CallToolResult, Tool } from "@modelcontextprotocol/server";
import type { AccessContext, ErrorObject, JsonObject, ToolDescriptor, ToolResult } from "turnpike/contracts";
import type { ServiceApi, ServiceApiCallOptions } from "turnpike/http";
import { toPublicError, type PublicError } from "./public-error.ts";

/** A tool as MCP describes it, under the same name. */
export function toMcpTool({ name, description, readWrite, annotations, ...tool }: ToolDescriptor): Tool {
  const { destructive, idempotent } = annotations ?? {};
  return {
    name,
    description,
    inputSchema: { ...tool.inputSchema, type: "object" } as Tool["inputSchema"],
    ...(hasObjectOutput(tool.outputSchema) && { outputSchema: tool.outputSchema }),
    annotations: {
      readOnlyHint: readWrite === "read",
      ...(destructive !== undefined && { destructiveHint: destructive }),
      ...(idempotent !== undefined && { idempotentHint: idempotent }),
    },
  };
}

/** Clients of the older protocol accept only output schemas of objects. One other schema would make them refuse the list. */
function hasObjectOutput(schema: JsonObject | undefined): schema is JsonObject {
  return schema?.["type"] === "object";
}

/** The caller's context, and the api to call. */
export interface ToolAccess {
  api: ServiceApi;
  context: AccessContext;
  options: ServiceApiCallOptions;
  /** Told about errors that callers only see as `internal_error`. */
  onError(error: unknown): void;
}

/** Calls a tool through the gate. The outcome is always a result; a refusal is a result with `isError`. */
export async function callTool(
  { api, context, options, onError }: ToolAccess,
  { name: tool, arguments: args = {} }: { name: string; arguments?: Record<string, unknown> | undefined },
): Promise<CallToolResult> {
  const { now: requestedAt, traceId } = context;
  const call = { id: crypto.randomUUID(), tool, arguments: args as JsonObject, requestedAt, traceId };
  try {
    return toCallResult(await api.invokeTool(context, call, options));
  } catch (error) {
    const known = toPublicError(error);
    if (known.code === "internal_error") onError(error);
    return refusal("failed", known);
  }
}

function toCallResult(result: ToolResult): CallToolResult {
  if (result.status !== "succeeded") return refusal(result.status, result.error);
  const { output } = result;
  const isObject = typeof output === "object" && output !== null && !Array.isArray(output);
  const text = typeof output === "string" ? output : JSON.stringify(output);
  return { content: [{ type: "text", text }], ...(isObject && { structuredContent: output }) };
}

/** Models read the text and programs read the structure, so the code is in both. */
function refusal(
  status: "denied" | "failed",
  { code, message, retryable, details }: PublicError & Pick<ErrorObject, "details">,
): CallToolResult {
  const error = { code, message, ...(retryable !== undefined && { retryable }), ...(details && { details }) };
  return {
    isError: true,
    content: [{ type: "text", text: `${status} (${code}): ${message}${nextStep(details)}` }],
    structuredContent: { status, error },
  };
}

/** What a model can do about a call that waits for a person's yes. */
function nextStep(details: JsonObject | undefined): string {
  const asked = details?.["escalationId"];
  return typeof asked === "string"
    ? ` A person has been asked (${asked}). Call again with exactly the same arguments after the yes.`
    : "";
}
