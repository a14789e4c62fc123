import {
  streamText,
  type AssistantModelMessage,
  type FinishReason,
  type LanguageModelUsage,
  type ModelMessage,
  type Output,
  type ToolCallPart,
  type ToolSet,
} from "ai";
import { withExactArguments } from "./exact-arguments.ts";
import { failureOf, failureOfEnd, type Failure } from "./model-errors.ts";
import type { OutputSchema } from "./output-schema.ts";
import { isResponsesApi, optionsFor, type OpenModel } from "./providers.ts";

// The SDK's warnings would go to the console.
globalThis.AI_SDK_LOG_WARNINGS = false;

/** How many calls of one reply are used. The model sees which of its calls were answered. */
const maxCalls = 128;

/** Anthropic ends a long reply with this reason, and continues it when it is sent back. */
const pauseReason = "pause_turn";

/** A model, and the parts that all requests of a turn share. */
export interface ModelRequest {
  model: OpenModel;
  instructions: string;
  tools: ToolSet;
  settings: { maxOutputTokens?: number; temperature?: number };
  /** The schema of the output, for a provider that accepts one. */
  schema: OutputSchema | undefined;
}

/** A call as the model made it. Nothing in it is validated yet. */
export type ModelCall = Pick<ToolCallPart, "toolCallId" | "toolName" | "providerOptions"> & {
  input: unknown;
  /** Why the input differs from what the model wrote, if it does. */
  problem?: string;
};

/** A part of a reply, such as text or reasoning, as the provider wants it sent back. */
export type ReplyPart = Exclude<AssistantModelMessage["content"], string>[number];

/** How a request ended at the provider, and what it cost. */
export interface Finish {
  reason: FinishReason;
  usage: LanguageModelUsage;
}

/** The outcome of one request. */
export type ModelAnswer = { finish?: Finish | undefined } & (
  | { kind: "reply"; text: string; parts: ReplyPart[]; calls: ModelCall[]; isPaused: boolean }
  | ({ kind: "failure" } & Failure)
);

/** Listens to a reply while it arrives. */
export interface ModelListener {
  text(delta: string): void;
  call(name: string): void;
}

/** Parts of a stream with which a reply begins. */
const beginnings: ReadonlySet<string> = new Set(["text-start", "reasoning-start", "tool-input-start", "tool-call"]);

/** Sends exactly one request and reads the whole reply. Rejects only when the turn is over. */
export async function sendModelRequest(
  { model, instructions, tools, settings, schema }: ModelRequest,
  messages: readonly ModelMessage[],
  listener: ModelListener,
  signal: AbortSignal,
): Promise<ModelAnswer> {
  // However this function ends, the connection of the reply is closed with it.
  const left = new AbortController();
  let hasBegun = false;
  const problems = new Map<string, string>();
  try {
    const result = streamText({
      ...settings,
      model: withExactArguments(model.model, (id, problem) => problems.set(id, problem)),
      providerOptions: optionsFor(model.settings, schema),
      ...(schema && { output: outputOf(schema) }),
      system: instructions,
      messages: [...messages],
      tools,
      maxRetries: 0,
      abortSignal: AbortSignal.any([signal, left.signal]),
      onError: () => {},
    });
    const calls: ModelCall[] = [];
    let text = "";
    let end: { finish: Finish; raw: string | undefined } | undefined;
    for await (const part of result.fullStream) {
      signal.throwIfAborted();
      if (part.type === "error") return { kind: "failure", ...failureOf(part.error, hasBegun) };
      hasBegun ||= beginnings.has(part.type);
      if (part.type === "text-delta") {
        text += part.text;
        listener.text(part.text);
      }
      // A call that the provider executes itself was not requested, and is not ours to answer.
      if (part.type === "tool-call" && part.providerExecuted !== true && calls.length < maxCalls) {
        const { toolCallId, toolName, input, providerMetadata } = part;
        const problem = problems.get(toolCallId);
        calls.push({
          toolCallId,
          toolName,
          input,
          ...(problem !== undefined && { problem }),
          ...(providerMetadata && { providerOptions: providerMetadata }),
        });
        listener.call(toolName);
      }
      if (part.type === "finish-step")
        end = { finish: { reason: part.finishReason, usage: part.usage }, raw: part.rawFinishReason };
    }
    signal.throwIfAborted();

    const finish = end?.finish;
    const reason = finish?.reason ?? "other";
    const isIncomplete = isResponsesApi(model.settings) && end?.raw !== undefined;
    const seen = { hasBegun, hasText: text !== "", hasCalls: calls.length > 0 };
    const error = failureOfEnd({ reason, raw: end?.raw, isIncomplete, ...seen });
    if (error !== undefined) return { kind: "failure", error, remedy: "none", finish };
    const { messages: replies } = await result.response;
    const isPaused = end?.raw === pauseReason && calls.length === 0;
    return { kind: "reply", text, parts: replies.flatMap(replyPartsIn), calls, isPaused, finish };
  } catch (error) {
    signal.throwIfAborted();
    return { kind: "failure", ...failureOf(error, hasBegun) };
  } finally {
    left.abort();
  }
}

/** Tells the SDK the schema of the output. The output itself is read and checked when the turn ends. */
function outputOf({ schema }: OutputSchema): Output.Output<string, never, never> {
  return {
    name: "schema",
    responseFormat: Promise.resolve({ type: "json", schema }),
    parseCompleteOutput: ({ text }) => Promise.resolve(text),
    parsePartialOutput: () => Promise.resolve(undefined),
    createElementStreamTransform: () => undefined,
  };
}

function replyPartsIn({ role, content }: ModelMessage): ReplyPart[] {
  if (role !== "assistant" || typeof content === "string") return [];
  return content.filter(({ type }) => type === "text" || type === "reasoning");
}
