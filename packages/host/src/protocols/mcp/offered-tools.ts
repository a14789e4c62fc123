import type { CallToolResult, Tool } from "@modelcontextprotocol/server";
import type { JsonObject, JsonValue, ToolDescriptor, ToolResult } from "turnpike/contracts";
import { escalationToolName } from "turnpike/runtime";
import type { Access } from "./access.ts";
import { realNameKey, withUniqueNames, type OfferedNames } from "./offered-names.ts";
import { advise, toPublicError, type PublicError } from "./public-error.ts";

/** Tools as MCP describes them, without the one that only a turn can use. */
export function toMcpTools(tools: readonly ToolDescriptor[], names: OfferedNames): Tool[] {
  const usable = tools.filter(({ name }) => name !== escalationToolName);
  return withUniqueNames(usable.map((tool) => toMcpTool(tool, names)));
}

function toMcpTool({ name, description, readWrite, annotations, ...tool }: ToolDescriptor, names: OfferedNames): Tool {
  const { destructive, idempotent } = annotations ?? {};
  return {
    name: names.of(name),
    description,
    inputSchema: { ...tool.inputSchema, type: "object" } as Tool["inputSchema"],
    ...(hasObjectOutput(tool.outputSchema) && { outputSchema: tool.outputSchema }),
    annotations: {
      readOnlyHint: readWrite === "read",
      ...(destructive !== undefined && { destructiveHint: destructive }),
      ...(idempotent !== undefined && { idempotentHint: idempotent }),
    },
    _meta: { [realNameKey]: name },
  };
}

/** Clients of the older protocol accept only output schemas of objects. One other schema would make them refuse the list. */
function hasObjectOutput(schema: JsonObject | undefined): schema is JsonObject {
  return schema?.["type"] === "object";
}

/** What a call of a tool uses. */
export interface ToolAccess extends Access {
  names: OfferedNames;
  /** Called with errors that callers only see as `internal_error`. */
  onError(error: unknown): void;
}

/** Calls a tool through the gate. The outcome is always a result; a refusal is a result with `isError`. */
export async function callTool(
  access: ToolAccess,
  { name, arguments: args = {} }: { name: string; arguments?: Record<string, unknown> | undefined },
): Promise<CallToolResult> {
  const { api, context, options, names, onError } = access;
  const { now: requestedAt, traceId } = context;
  try {
    const tool = names.meant(name) ?? (await findTool(access, name));
    const call = { id: crypto.randomUUID(), tool, arguments: args as JsonObject, requestedAt, traceId };
    return toCallResult(await api.invokeTool(context, call, options));
  } catch (error) {
    const known = toPublicError(error);
    if (known.code === "internal_error") onError(error);
    return refusal("failed", known);
  }
}

/**
 * The tool with this offered name, among those that the caller may use; without one the name itself, which the gate refuses.
 * Only names with a hash need this listing, so it is recorded in the audit log like any other.
 */
async function findTool({ api, context, options, names }: ToolAccess, offered: string): Promise<string> {
  const tools = await api.listTools(context, options);
  const [found, ...others] = tools.filter(({ name }) => names.of(name) === offered);
  return found === undefined || others.length > 0 ? offered : found.name;
}

function toCallResult(result: ToolResult): CallToolResult {
  if (result.status !== "succeeded") return refusal(result.status, result.error);
  const { output, metadata } = result;
  const said = metadata?.["mcp"];
  if (isObject(said) && isObject(output)) return toServersResult(output, said);
  const text = typeof output === "string" ? output : JSON.stringify(output);
  return { content: [{ type: "text", text }], ...(isObject(output) && { structuredContent: output }) };
}

/** The result of an MCP server's tool as the server sent it: content, and the structured content if there is any. */
function toServersResult(output: JsonObject, { content, _meta }: JsonObject): CallToolResult {
  return {
    content: (content ?? output["content"]) as CallToolResult["content"],
    ...(content !== undefined && { structuredContent: output }),
    ...(isObject(_meta) && { _meta }),
  };
}

function isObject(value: JsonValue | undefined): value is JsonObject {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** The result of a call whose arguments cannot be read. */
export function refuseArguments(message: string): CallToolResult {
  return refusal("failed", { code: "invalid_tool_arguments", message, retryable: false });
}

/** A refusal has no `structuredContent`, because clients check that against the schema of the tool's output and throw. */
function refusal(status: "denied" | "failed", error: PublicError): CallToolResult {
  const { code, retryable, details } = error;
  const forPrograms = { status, code, ...(retryable !== undefined && { retryable }), ...(details && { details }) };
  return {
    _meta: { "turnpike/error": forPrograms },
    content: [{ type: "text", text: `${status} (${code}): ${advise(error)}` }],
    isError: true,
  };
}
