import type { Tool } from "@modelcontextprotocol/client";
import {
  accept,
  canonicalJson,
  JsonObjectSchema,
  ToolDescriptorSchema,
  type ToolAnnotations,
  type ToolDescriptor,
} from "turnpike/contracts";
import { z } from "zod";
import { HiddenTextError, plainSchema, plainText } from "./plain-text.ts";

/** A tool of an MCP server: as the server listed it, and as the kernel knows it. */
export interface McpTool {
  listed: Tool;
  descriptor: ToolDescriptor;
}

/** What became of one entry of a server's list. */
export type ToolReading = { ok: true; tool: McpTool } | { ok: false; name: string; why: string };

const hint = z.boolean().optional();

const ListedToolSchema = z.looseObject({
  name: z.string(),
  title: z.string().optional(),
  description: z.string().optional(),
  inputSchema: z.looseObject({ type: z.literal("object") }).and(JsonObjectSchema),
  outputSchema: JsonObjectSchema.optional(),
  annotations: z.looseObject({ readOnlyHint: hint, destructiveHint: hint, idempotentHint: hint }).optional(),
});

type Listed = z.infer<typeof ListedToolSchema>;

const maxDescription = 8192;
/** Everything of one tool, as JSON: it is shown to every caller and to every model. */
const maxToolLength = 131_072;

/** Reads one entry of a server's list. What does not fit is left out, with the reason for the operator. */
export function readTool(server: string, entry: unknown): ToolReading {
  if ((JSON.stringify(entry) ?? "").length > maxToolLength) {
    return leftOut(entry, `it is larger than ${maxToolLength} characters`);
  }
  const parsed = ListedToolSchema.safeParse(entry);
  if (!parsed.success) return leftOut(entry, "it is no tool with an input schema for an object");
  const listed = parsed.data;
  if (!isUsableName(listed.name)) return leftOut(entry, "its name does not fit");
  const description = described(`mcp.${server}`, listed);
  if (description === undefined) return leftOut(entry, "its schema has hidden characters in a name or value");
  const accepted = accept(ToolDescriptorSchema, description);
  if (!accepted.ok) return leftOut(entry, accepted.message);
  return { ok: true, tool: { listed: entry as Tool, descriptor: accepted.value } };
}

/** Names as MCP recommends them, which are also one step of a path. `__proto__` is a key that JSON here never has. */
function isUsableName(name: string): boolean {
  return /^[\w.-]{1,128}$/.test(name) && !["__proto__", ".", ".."].includes(name);
}

function leftOut(entry: unknown, why: string): ToolReading {
  const name = typeof entry === "object" && entry !== null && "name" in entry ? entry.name : undefined;
  return { ok: false, name: typeof name === "string" ? plainText(name, 128) : "", why };
}

/** The tool as the kernel describes it; undefined when its schemas hide something that cannot be taken out. */
function described(namespace: string, listed: Listed): object | undefined {
  try {
    return describe(namespace, listed);
  } catch (error) {
    if (error instanceof HiddenTextError) return undefined;
    throw error;
  }
}

function describe(namespace: string, listed: Listed): object {
  const { name, title = "", description = "", inputSchema, outputSchema } = listed;
  const words = plainText(description || title, maxDescription) || `The tool ${name} of an MCP server.`;
  return {
    name: `${namespace}.${name}`,
    description: words,
    namespace,
    source: namespace,
    ...effectOf(listed.annotations),
    inputSchema: plainSchema(inputSchema),
    ...(outputSchema?.["type"] === "object" && { outputSchema: plainSchema(outputSchema) }),
    requiredCapability: { action: "call", resource: { namespace, path: [name] } },
  };
}

/** MCP's own defaults, read with suspicion: a write unless declared otherwise, destructive unless declared otherwise. */
function effectOf(hints: Listed["annotations"]): Pick<ToolDescriptor, "readWrite"> & { annotations: ToolAnnotations } {
  const isDestructive = hints?.destructiveHint;
  const idempotent = hints?.idempotentHint === true;
  if (hints?.readOnlyHint === true && isDestructive !== true) {
    return { readWrite: "read", annotations: { readOnly: true, idempotent } };
  }
  return { readWrite: "write", annotations: { destructive: isDestructive !== false, idempotent } };
}

/** True when a tool is still the one that was listed: the same effect, the same input. */
export function isSameTool({ descriptor: one }: McpTool, { descriptor: other }: McpTool): boolean {
  const essence = ({ name, readWrite, annotations, inputSchema }: ToolDescriptor): string =>
    canonicalJson([name, readWrite, annotations, inputSchema]);
  return one === other || essence(one) === essence(other);
}
