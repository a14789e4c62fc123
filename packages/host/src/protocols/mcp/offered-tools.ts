import type { CallToolResult, Tool } from "@modelcontextprotocol/server";
import type { AccessContext, JsonObject, ToolDescriptor, ToolResult } from "turnpike/contracts";
import type { ServiceApi, ServiceApiCallOptions } from "turnpike/http";
import { toSaidError, type SaidError } from "./public-error.ts";

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

/** Clients of the older protocol take no other output schema, and would refuse the whole list for one. */
function hasObjectOutput(schema: JsonObject | undefined): schema is JsonObject {
  return schema?.["type"] === "object";
}

/** Who calls, and through what. */
export interface ToolAccess {
  api: ServiceApi;
  context: AccessContext;
  options: ServiceApiCallOptions;
  /** Told about errors that callers only see as `internal_error`. */
  onError(error: unknown): void;
}

/** Calls a tool through the gate. Whatever comes of it is a result: a refusal is one that says so. */
export async function callTool(
  { api, context, options, onError }: ToolAccess,
  { name: tool, arguments: args = {} }: { name: string; arguments?: Record<string, unknown> | undefined },
): Promise<CallToolResult> {
  const { now: requestedAt, traceId } = context;
  const call = { id: crypto.randomUUID(), tool, arguments: args as JsonObject, requestedAt, traceId };
  try {
    return toCallResult(await api.invokeTool(context, call, options));
  } catch (error) {
    const said = toSaidError(error);
    if (said.code === "internal_error") onError(error);
    return refusal("failed", said);
  }
}

function toCallResult(result: ToolResult): CallToolResult {
  if (result.status !== "succeeded") return refusal(result.status, result.error);
  const { output } = result;
  const isObject = typeof output === "object" && output !== null && !Array.isArray(output);
  const text = typeof output === "string" ? output : JSON.stringify(output);
  return { content: [{ type: "text", text }], ...(isObject && { structuredContent: output }) };
}

/** Models read the text, programs the structure; both find the code. */
function refusal(status: "denied" | "failed", { code, message, retryable }: SaidError): CallToolResult {
  const error = { code, message, ...(retryable !== undefined && { retryable }) };
  return {
    isError: true,
    content: [{ type: "text", text: `${status} (${code}): ${message}` }],
    structuredContent: { status, error },
  };
}
