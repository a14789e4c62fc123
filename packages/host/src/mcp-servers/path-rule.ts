import { PathSegmentSchema, type JsonObject } from "turnpike/contracts";
import { ToolError } from "turnpike/kernel";
import type { PathRule } from "./mcp-config.ts";

/** The place below its tool that a call acts on. Throws when an argument that the rule names cannot be a step of a path. */
export function placeOf(rule: PathRule | undefined, args: JsonObject): string[] {
  return (rule?.path ?? []).map((part) => (part.startsWith("$") ? stepFrom(part.slice(1), args) : part));
}

function stepFrom(name: string, args: JsonObject): string {
  const value = Object.hasOwn(args, name) ? args[name] : undefined;
  const step = PathSegmentSchema.safeParse(value);
  if (step.success) return step.data;
  throw new ToolError("invalid_tool_arguments", `/${name}: expected a text that can be one step of a path`);
}
