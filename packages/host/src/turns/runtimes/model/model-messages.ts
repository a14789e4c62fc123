import { jsonSchema, tool, type ModelMessage, type ToolResultPart, type ToolSet } from "ai";
import type { ErrorObject, ToolDescriptor, ToolResult } from "turnpike/contracts";
import type { ReplyPart } from "./model-request.ts";
import type { Entry } from "./conversation.ts";
import type { PlannedCall } from "./model-calls.ts";
import { providerName, type ToolNames } from "../../../base/index.ts";
import { isResponsesApi, type OpenModel } from "./providers.ts";

/** The tools of a turn for the SDK: without anything to execute, and with their own schemas. */
export function toolSet(tools: readonly ToolDescriptor[], names: ToolNames, model: OpenModel): ToolSet {
  const strictness = isResponsesApi(model.settings) ? { strict: false } : {};
  // It has no prototype, so that a made-up tool name never finds an inherited property.
  const offered = Object.create(null) as ToolSet;
  for (const { name, description, inputSchema } of tools)
    offered[names.toModel(name)] = tool({ description, inputSchema: jsonSchema(inputSchema), ...strictness });
  return offered;
}

/** An earlier conversation as messages. It cannot contain a message of the role `system`. */
export function messagesOf(conversation: readonly Entry[]): ModelMessage[] {
  return conversation.map(({ role, text }) => ({ role, content: text }));
}

/** A reply that called tools, and the outcome of each call. `results` are those of the calls that the gate decided. */
export function exchangeOf(
  parts: readonly ReplyPart[],
  planned: readonly PlannedCall[],
  results: readonly ToolResult[],
): ModelMessage[] {
  const decided = new Map(results.toReversed().map((result) => [result.callId, result]));
  const calls: ReplyPart[] = [];
  const answers: ToolResultPart[] = [];
  const shown = new Set<string>();
  for (const plan of planned) {
    const { toolCallId, toolName, input, providerOptions } = plan.made;
    const output = plan.kind === "answered" ? outputOfError(plan.error) : outputOf(decided.get(plan.call.id));
    // Providers accept an id only once. A second call with the same id was refused, and is not sent to them.
    if (output === undefined || shown.has(toolCallId)) continue;
    shown.add(toolCallId);
    const about = { toolCallId, toolName: providerName(toolName) };
    calls.push({
      ...about,
      type: "tool-call",
      input: isObject(input) ? input : {},
      ...(providerOptions && { providerOptions }),
    });
    answers.push({ ...about, type: "tool-result", output });
  }
  return [
    { role: "assistant", content: [...parts, ...calls] },
    { role: "tool", content: answers },
  ];
}

function outputOf(result: ToolResult | undefined): ToolResultPart["output"] | undefined {
  if (result === undefined) return undefined;
  if (result.status !== "succeeded") return outputOfError(result.error, result.status);
  const { output } = result;
  return typeof output === "string" ? { type: "text", value: output } : { type: "json", value: output };
}

function outputOfError(error: ErrorObject, status = "failed"): ToolResultPart["output"] {
  return { type: "error-json", value: { status, error: { ...error } } };
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
