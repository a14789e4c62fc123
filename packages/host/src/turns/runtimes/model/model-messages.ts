import { jsonSchema, tool, type ModelMessage, type ToolResultPart, type ToolSet, type UserModelMessage } from "ai";
import type { ToolDescriptor, ToolResult } from "turnpike/contracts";
import type { ReplyPart } from "./model-request.ts";
import type { Entry } from "./conversation.ts";
import type { PlannedCall } from "./model-calls.ts";
import { providerName, type ToolNames } from "../../../shared/index.ts";
import type { OutputSchema } from "./output-schema.ts";
import { isResponsesApi, showsImages, type OpenModel } from "./providers.ts";
import { outputOf, outputOfError } from "./tool-output.ts";

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

/** A message that also asks for an output in words. It is the caller's request, so it is not among the instructions. */
export function withSchema({ role, content }: UserModelMessage, { schema }: OutputSchema): ModelMessage {
  const text = `When you are done, reply with JSON alone that fits this JSON Schema: ${JSON.stringify(schema)}`;
  if (typeof content === "string") return { role, content: `${content}\n\n${text}` };
  return { role, content: [...content, { type: "text", text }] };
}

/** A reply that called tools, or was paused. `by` is the id of the model; a journal of an earlier release does not say it. */
export interface Reply {
  by?: string;
  parts: ReplyPart[];
  planned: PlannedCall[];
}

/** A reply, and the results of those of its calls that the gate decided. */
export interface Exchange extends Reply {
  results: readonly ToolResult[];
}

/** What has happened in a turn so far, for this model. Of another model's replies it gets what every provider understands. */
export function exchangesFor(model: OpenModel, exchanges: readonly Exchange[]): ModelMessage[] {
  return exchanges.flatMap((exchange, step) => {
    const isOwn = exchange.by === undefined || exchange.by === model.id;
    return messagesOfExchange(isOwn ? exchange : withoutMarks(exchange, step), showsImages(model.settings));
  });
}

/**
 * A reply without thoughts, signatures and ids of the provider that sent it: another one refuses them. The ids of the calls
 * are ours, because not every provider accepts every character in them.
 */
function withoutMarks({ parts, planned, results }: Exchange, step: number): Exchange {
  const texts = parts.flatMap((part) => (part.type === "text" ? [{ type: part.type, text: part.text }] : []));
  const ids = planned.map(({ made }) => made.toolCallId);
  const unmarked = planned.map((plan): PlannedCall => {
    const { toolCallId, toolName, input } = plan.made;
    return { ...plan, made: { toolCallId: `call_${step + 1}_${ids.indexOf(toolCallId) + 1}`, toolName, input } };
  });
  return { parts: texts, planned: unmarked, results };
}

function messagesOfExchange({ parts, planned, results }: Exchange, isSeeing: boolean): ModelMessage[] {
  const decided = new Map(results.toReversed().map((result) => [result.callId, result]));
  const calls: ReplyPart[] = [];
  const answers: ToolResultPart[] = [];
  const shown = new Set<string>();
  for (const plan of planned) {
    const { toolCallId, toolName, input, providerOptions } = plan.made;
    const output = plan.kind === "answered" ? outputOfError(plan.error) : outputOf(decided.get(plan.call.id), isSeeing);
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
  const content = [...parts, ...calls];
  // A reply that was paused has no calls, and may have said nothing yet. Providers refuse empty messages.
  return [
    ...(content.length > 0 ? [{ role: "assistant" as const, content }] : []),
    ...(answers.length > 0 ? [{ role: "tool" as const, content: answers }] : []),
  ];
}

function isObject(value: unknown): value is object {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
