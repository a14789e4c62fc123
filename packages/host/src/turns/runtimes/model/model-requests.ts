import type { ModelMessage } from "ai";
import type { JsonObject } from "turnpike/contracts";
import { errorObject } from "turnpike/kernel";
import type { RuntimeTurn } from "turnpike/runtime";
import { inModelSpan } from "../../../telemetry/index.ts";
import { askModels, type RetryClock, type RetryListener } from "./ask-models.ts";
import type { ModelEvents } from "./model-events.ts";
import { toolSet } from "./model-messages.ts";
import { sendModelRequest, type ModelAnswer } from "./model-request.ts";
import { openModelUsage } from "./model-usage.ts";
import type { OutputSchema } from "./output-schema.ts";
import { takesSchema, type OpenModel } from "./providers.ts";
import type { ToolNames } from "../../../shared/index.ts";

/** Providers refuse a limit below this: with less, a request is not worth sending. */
const minOutputTokens = 16;

/** How many tokens every model can reply with. */
const everyModelReplies = 4_096;

/** What all requests of a turn share. */
export interface RequestsOptions {
  turn: RuntimeTurn;
  models: readonly OpenModel[];
  names: ToolNames;
  instructions: string;
  events: ModelEvents;
  clock: RetryClock;
  /** How many tokens the turn may use. */
  tokenBudget: number | undefined;
  schema: OutputSchema | undefined;
}

/** What the next run needs to know of the requests. Journals of earlier releases have no `model` and no `elapsedMs`. */
export interface RequestsMemory {
  requests: number;
  usage: JsonObject;
  model?: string;
  elapsedMs?: number;
}

/** The requests of one turn. */
export interface ModelRequests {
  /** How many were made. One that is repeated, or goes to another model, counts once. */
  count(): number;
  /** Makes a request of the messages that are meant for the model that is asked. */
  send(messagesFor: (model: OpenModel) => ModelMessage[], signal: AbortSignal): Promise<ModelAnswer & { by: string }>;
  metadata(): JsonObject;
  memory(): RequestsMemory;
  recall(memory: RequestsMemory): void;
}

/** Opens the requests of a turn. A model that has answered is asked first for the rest of the turn. */
export function openModelRequests(options: RequestsOptions): ModelRequests {
  const { turn, models, names, instructions, events, clock, tokenBudget, schema } = options;
  const usage = openModelUsage();
  const begun = clock.now();
  let remaining = models;
  let requests = 0;
  let earlierMs = 0;

  const listenerOf = (step: number): RetryListener => ({
    retry: ({ model, ...data }) => events.retry({ step, ...nameOf(model), ...data }),
    fallback: ({ model, code }) => events.fallback({ step, ...nameOf(model), code }),
  });

  return {
    count: () => requests,
    async send(messagesFor, signal) {
      const left = (tokenBudget ?? Number.POSITIVE_INFINITY) - usage.spent();
      if (left < minOutputTokens) return overBudget(models[0]);
      const step = requests;
      requests += 1;
      const listener = {
        text: (delta: string) => events.text(step, delta),
        call: (name: string) => events.call({ step, tool: names.fromModel(name).slice(0, 256) }),
      };
      const send = (model: OpenModel): Promise<ModelAnswer> => {
        const request = {
          model,
          instructions,
          tools: toolSet(turn.tools, names, model),
          settings: limitsOf(model, left),
          schema: takesSchema(model.settings, turn.tools.length > 0) ? schema : undefined,
        };
        return inModelSpan(model.settings, () => sendModelRequest(request, messagesFor(model), listener, signal));
      };
      const deadline = begun + turn.limits.timeoutMs - earlierMs;
      const asking = { send, deadline, clock, listener: listenerOf(step), signal };
      const { answer, model } = await askModels(remaining, asking);
      remaining = remaining.slice(remaining.indexOf(model));
      events.flush();
      const { finish } = answer;
      if (finish !== undefined) {
        const said = answer.kind === "reply" ? [answer.text, answer.calls] : [];
        const estimate = (): number =>
          tokenBudget === undefined ? 0 : estimateTokens([instructions, turn.tools, messagesFor(model), said]);
        const used = usage.add(finish, model, estimate);
        events.finished({ step, ...nameOf(model), finishReason: finish.reason, ...used });
      }
      // When the budget set the limit of a reply, a reply that was cut off there has used up the budget.
      const isCut = answer.kind === "failure" && answer.error.code === "model_output_truncated";
      if (isCut && limitsOf(model, left).maxOutputTokens === left) return overBudget(model);
      return { ...answer, by: model.id };
    },
    metadata: () => ({ requests, ...usage.total() }),
    memory() {
      const elapsedMs = earlierMs + clock.now() - begun;
      return { requests, usage: usage.total(), elapsedMs, ...(remaining[0] && { model: remaining[0].id }) };
    },
    recall(memory) {
      ({ requests, elapsedMs: earlierMs = 0 } = memory);
      usage.restore(memory.usage);
      // A model that is no longer configured is not found, and then the first one is asked.
      const place = models.findIndex(({ id }) => id === memory.model);
      remaining = models.slice(Math.max(0, place));
    },
  };
}

function nameOf({ settings: { provider, model } }: OpenModel): { provider: string; model: string } {
  return { provider, model };
}

/**
 * The settings of a request. The output is limited to what is left of the budget. A model without a limit of its own gets
 * one only when little is left, because providers refuse a limit that is larger than the longest reply of the model.
 */
function limitsOf(
  { settings: { maxOutputTokens = Number.POSITIVE_INFINITY, temperature } }: OpenModel,
  left: number,
): { maxOutputTokens?: number; temperature?: number } {
  const isLimited = Number.isFinite(maxOutputTokens) || left <= everyModelReplies;
  return {
    ...(isLimited && { maxOutputTokens: Math.min(maxOutputTokens, left) }),
    ...(temperature !== undefined && { temperature }),
  };
}

function overBudget(model: OpenModel | undefined): ModelAnswer & { by: string } {
  return { kind: "failure", error: errorObject("token_limit_exceeded"), remedy: "none", by: model?.id ?? "" };
}

/** Four characters a token, for providers that do not count. Files and images are not text; an argument called `data` is. */
function estimateTokens(said: unknown): number {
  const text = JSON.stringify(said, (_key, value: unknown) =>
    isBytes(value) ? undefined : isImage(value) ? { ...value, data: undefined } : value,
  );
  return Math.ceil(text.length / 4);
}

function isBytes(value: unknown): boolean {
  return value instanceof Uint8Array;
}

function isImage(value: unknown): value is { type: "image-data"; data: string } {
  return typeof value === "object" && value !== null && "type" in value && value.type === "image-data";
}
