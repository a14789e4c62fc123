import type { ModelMessage } from "ai";
import type { JsonObject } from "turnpike/contracts";
import type { RuntimeTurn } from "turnpike/runtime";
import { askModels, type RetryClock, type RetryListener } from "./ask-models.ts";
import type { ModelEvents } from "./model-events.ts";
import { toolSet } from "./model-messages.ts";
import { sendModelRequest, type ModelAnswer } from "./model-request.ts";
import { openModelUsage } from "./model-usage.ts";
import type { OpenModel } from "./providers.ts";
import type { ToolNames } from "./tool-names.ts";

/** What all requests of a turn share. */
export interface RequestsOptions {
  turn: RuntimeTurn;
  models: readonly OpenModel[];
  names: ToolNames;
  instructions: string;
  events: ModelEvents;
  clock: RetryClock;
}

/** What of the requests goes on elsewhere. Journals of earlier releases have no `model` and no `elapsedMs`. */
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
  const { turn, models, names, instructions, events, clock } = options;
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
      const step = requests;
      requests += 1;
      const listener = {
        text: (delta: string) => events.text(step, delta),
        call: (name: string) => events.call({ step, tool: names.fromModel(name).slice(0, 256) }),
      };
      const send = (model: OpenModel): Promise<ModelAnswer> => {
        const request = { model, instructions, tools: toolSet(turn.tools, names, model), settings: limitsOf(model) };
        return sendModelRequest(request, messagesFor(model), listener, signal);
      };
      const deadline = begun + turn.limits.timeoutMs - earlierMs;
      const asking = { send, deadline, clock, listener: listenerOf(step), signal };
      const { answer, model } = await askModels(remaining, asking);
      remaining = remaining.slice(remaining.indexOf(model));
      events.flush();
      const { finish } = answer;
      if (finish !== undefined)
        events.finished({ step, ...nameOf(model), finishReason: finish.reason, usage: usage.add(finish, model) });
      return { ...answer, by: model.name };
    },
    metadata: () => ({ requests, ...usage.total() }),
    memory() {
      const elapsedMs = earlierMs + clock.now() - begun;
      return { requests, usage: usage.total(), elapsedMs, ...(remaining[0] && { model: remaining[0].name }) };
    },
    recall(memory) {
      ({ requests, elapsedMs: earlierMs = 0 } = memory);
      usage.restore(memory.usage);
      // A model that is not configured any more is not looked for.
      const place = models.findIndex(({ name }) => name === memory.model);
      remaining = models.slice(Math.max(0, place));
    },
  };
}

function nameOf({ settings: { provider, model } }: OpenModel): { provider: string; model: string } {
  return { provider, model };
}

function limitsOf({ settings: { maxOutputTokens, temperature } }: OpenModel): {
  maxOutputTokens?: number;
  temperature?: number;
} {
  return { ...(maxOutputTokens && { maxOutputTokens }), ...(temperature !== undefined && { temperature }) };
}
