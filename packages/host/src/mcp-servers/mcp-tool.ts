import type { Tool } from "@modelcontextprotocol/client";
import {
  canonicalJson,
  describeIssues,
  JsonObjectSchema,
  ToolDescriptorSchema,
  type ToolAnnotations,
  type ToolDescriptor,
} from "turnpike/contracts";
import { z } from "zod";
import { sha256 } from "../shared/index.ts";
import { HiddenTextError, plainSchema, plainText } from "./plain-text.ts";

/** A tool of an MCP server: as the server listed it, and as the kernel knows it. */
export interface McpTool {
  listed: Tool;
  descriptor: ToolDescriptor;
  /** Canonical JSON of what the host uses of the listed tool, including hidden characters. */
  definition: string;
  /** The hash of the definition. Tools with the same hash are the same. */
  hash: string;
}

/** The result of reading one entry of a server's list. */
export type ToolReading = { ok: true; tool: McpTool } | { ok: false; name: string; why: string };

const hint = z.boolean().optional();

const ListedToolSchema = z.looseObject({
  name: z.string(),
  title: z.string().optional(),
  description: z.string().optional(),
  inputSchema: z.looseObject({ type: z.literal("object") }).and(JsonObjectSchema),
  outputSchema: JsonObjectSchema.optional(),
  annotations: z.looseObject({ readOnlyHint: hint, destructiveHint: hint, idempotentHint: hint }).optional(),
  execution: z.looseObject({ taskSupport: z.unknown() }).optional(),
});

type Listed = z.infer<typeof ListedToolSchema>;

const maxDescription = 8192;
/** The limit of one tool's JSON, which every caller and every model is shown. */
const maxToolLength = 131_072;

/** Reads one entry of a server's list. An entry that does not fit is not used, and the operator is told why. */
export function readTool(server: string, entry: unknown): ToolReading {
  if ((JSON.stringify(entry) ?? "").length > maxToolLength) {
    return leftOut(entry, `it is larger than ${maxToolLength} characters`);
  }
  const parsed = ListedToolSchema.safeParse(entry);
  if (!parsed.success) return leftOut(entry, "it is no tool with an input schema for an object");
  const listed = parsed.data;
  if (!isUsableName(listed.name)) return leftOut(entry, "its name does not fit");
  if (listed.execution?.taskSupport === "required") {
    return leftOut(entry, "it runs as a task, which the host does not carry");
  }
  const description = described(`mcp.${server}`, listed);
  if (description === undefined) return leftOut(entry, "its schema has hidden characters in a name or value");
  const checked = ToolDescriptorSchema.safeParse(description);
  if (!checked.success) return leftOut(entry, describeIssues(checked.error.issues));
  const definition = definitionOf(entry as Tool);
  const hash = sha256(definition);
  return { ok: true, tool: { listed: entry as Tool, descriptor: Object.freeze(checked.data), definition, hash } };
}

/** What the host shows or uses of a tool, as the server listed it. */
function definitionOf({ name, title, description, inputSchema, outputSchema, annotations, execution }: Tool): string {
  return canonicalJson({ name, title, description, inputSchema, outputSchema, annotations, execution });
}

/** Names as MCP recommends them, which can also be one segment of a path. JSON here never has the key `__proto__`. */
function isUsableName(name: string): boolean {
  return /^[\w.-]{1,128}$/.test(name) && !["__proto__", ".", ".."].includes(name);
}

function leftOut(entry: unknown, why: string): ToolReading {
  const name = typeof entry === "object" && entry !== null && "name" in entry ? entry.name : undefined;
  return { ok: false, name: typeof name === "string" ? plainText(name, 128) : "", why };
}

/** The tool's descriptor for the kernel; undefined when its schemas have hidden characters that cannot be removed. */
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

/** MCP's defaults, which are the cautious ones: a tool writes and is destructive unless it declares otherwise. */
function effectOf(hints: Listed["annotations"]): Pick<ToolDescriptor, "readWrite"> & { annotations: ToolAnnotations } {
  const isDestructive = hints?.destructiveHint;
  const idempotent = hints?.idempotentHint === true;
  if (hints?.readOnlyHint === true && isDestructive !== true) {
    return { readWrite: "read", annotations: { readOnly: true, idempotent } };
  }
  return { readWrite: "write", annotations: { destructive: isDestructive !== false, idempotent } };
}

/** Whether a tool is still the one that was listed, in everything that is pinned of it. */
export function isSameTool(one: McpTool, other: McpTool): boolean {
  return one.hash === other.hash;
}
