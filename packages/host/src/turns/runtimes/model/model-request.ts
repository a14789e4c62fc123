import {
  streamText,
  type AssistantModelMessage,
  type FinishReason,
  type LanguageModelUsage,
  type ModelMessage,
  type ToolCallPart,
  type ToolSet,
} from "ai";
import type { ErrorObject } from "turnpike/contracts";
import { failureOf, failureOfEnd } from "./model-errors.ts";
import type { Model } from "./providers.ts";

// The SDK's warnings would go to the console.
globalThis.AI_SDK_LOG_WARNINGS = false;

/** So many calls of one reply are looked at; a model sees which of its calls were answered. */
const maxCalls = 128;

/** A model, and what stays the same in all requests of a turn. */
export interface ModelRequest {
  model: Model;
  instructions: string;
  tools: ToolSet;
  settings: { maxOutputTokens?: number; temperature?: number };
}

/** A call as the model made it: nothing in it is checked. */
export type ModelCall = Pick<ToolCallPart, "toolCallId" | "toolName" | "providerOptions"> & { input: unknown };

/** What a model said besides its calls, as its provider wants to see it again. */
export type SaidPart = Exclude<AssistantModelMessage["content"], string>[number];

/** How a request ended for the provider, and what it cost. */
export interface Finish {
  reason: FinishReason;
  usage: LanguageModelUsage;
}

/** What became of one request. */
export type ModelAnswer = { finish?: Finish | undefined } & (
  | { kind: "reply"; text: string; said: SaidPart[]; calls: ModelCall[] }
  | { kind: "failure"; error: ErrorObject }
);

/** Hears a reply while it comes. */
export interface ModelListener {
  text(delta: string): void;
  call(name: string): void;
}

/** Sends one request, exactly one, and reads the reply to its end. Rejects only when the turn is over. */
export async function askModel(
  { model, instructions, tools, settings }: ModelRequest,
  messages: readonly ModelMessage[],
  listener: ModelListener,
  signal: AbortSignal,
): Promise<ModelAnswer> {
  // Whatever way the reply is left, its connection goes with it.
  const left = new AbortController();
  let hasBegun = false;
  try {
    const result = streamText({
      ...settings,
      model,
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
      if (part.type === "error") return { kind: "failure", error: failureOf(part.error, hasBegun) };
      hasBegun ||= part.type === "text-start" || part.type === "reasoning-start" || part.type === "tool-input-start";
      if (part.type === "text-delta") {
        text += part.text;
        listener.text(part.text);
      }
      // What a provider executes on its own was never asked for, and is no call of ours.
      if (part.type === "tool-call" && part.providerExecuted !== true && calls.length < maxCalls) {
        const { toolCallId, toolName, input, providerMetadata } = part;
        calls.push({ toolCallId, toolName, input, ...(providerMetadata && { providerOptions: providerMetadata }) });
        listener.call(toolName);
      }
      if (part.type === "finish-step")
        end = { finish: { reason: part.finishReason, usage: part.usage }, raw: part.rawFinishReason };
    }
    signal.throwIfAborted();

    const finish = end?.finish;
    const reason = finish?.reason ?? "other";
    const error = failureOfEnd({ reason, raw: end?.raw, hasBegun, hasCalls: calls.length > 0 });
    if (error !== undefined) return { kind: "failure", error, finish };
    const { messages: replies } = await result.response;
    return { kind: "reply", text, said: replies.flatMap(saidIn), calls, finish };
  } catch (error) {
    signal.throwIfAborted();
    return { kind: "failure", error: failureOf(error, hasBegun) };
  } finally {
    left.abort();
  }
}

function saidIn({ role, content }: ModelMessage): SaidPart[] {
  if (role !== "assistant" || typeof content === "string") return [];
  return content.filter(({ type }) => type === "text" || type === "reasoning");
}
