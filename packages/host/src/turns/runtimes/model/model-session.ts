import type { ModelMessage } from "ai";
import type { JsonObject, JsonValue, ToolResult } from "turnpike/contracts";
import { errorObject } from "turnpike/kernel";
import {
  escalationToolName,
  type DriverDecision,
  type RuntimeHost,
  type RuntimeTurn,
  type TurnSession,
} from "turnpike/runtime";
import type { RetryClock } from "./ask-models.ts";
import { stateAfter, type Entry } from "./conversation.ts";
import { instructionsFor } from "./instructions.ts";
import { planCalls } from "./model-calls.ts";
import { openModelEvents } from "./model-events.ts";
import { exchangesFor, messagesOf, withSchema, type Exchange, type Reply } from "./model-messages.ts";
import { openModelRequests, type RequestsMemory } from "./model-requests.ts";
import type { OutputSchema } from "./output-schema.ts";
import type { ReadPayload } from "./payload.ts";
import { takesSchema, type OpenModel } from "./providers.ts";
import type { ModelConfig } from "./runtime-config.ts";
import { nameTools } from "../../../shared/index.ts";

/** After so many denials in a turn no further call reaches the gate. It bounds a model that tries again and again. */
const maxDenials = 512;

/** How many characters a model may reply in a turn, calls included. All of them are sent back to it with every step. */
const maxReplyCharacters = 1_000_000;

const unfitting = "The model's output does not fit the schema that was asked for.";

/** What a session is opened with. */
export interface SessionOptions {
  config: ModelConfig;
  models: readonly OpenModel[];
  clock: RetryClock;
  isSenderVerified: boolean;
  turn: RuntimeTurn;
  host: Pick<RuntimeHost, "emit">;
  earlier: readonly Entry[];
  payload: ReadPayload;
  schema: OutputSchema | undefined;
}

/** What a session stores of a decision to resume after it. The results of its calls come with the next decision. */
interface Memory extends RequestsMemory {
  replies: Reply[];
  replyCharacters: number;
  state: JsonObject | undefined;
}

/** Opens the conversation of one turn with its models. */
export function openModelSession(options: SessionOptions): TurnSession {
  const { config, turn, earlier, payload, schema, isSenderVerified } = options;
  const names = nameTools([...turn.tools.map(({ name }) => name), ...(turn.missingTools ?? [])]);
  const events = openModelEvents(options.host);
  const instructions = instructionsFor(turn, names, { own: config.instructions, isSenderVerified });
  const requests = openModelRequests({ ...options, names, instructions, events, tokenBudget: config.tokenBudget });
  const conversation: Entry[] = [...earlier, { role: "user", text: payload.recorded }];
  const beginningFor = ({ settings }: OpenModel): ModelMessage[] => {
    const isAsked = schema !== undefined && !takesSchema(settings, turn.tools.length > 0);
    return [...messagesOf(earlier), isAsked ? withSchema(payload.message, schema) : payload.message];
  };
  const exchanges: Exchange[] = [];
  /** The replies of this decision: the last one waits for its results. */
  let replies: Reply[] = [];
  let denials = 0;
  let replyCharacters = 0;
  let state: JsonObject | undefined;

  const learn = (results: readonly ToolResult[]): void => {
    denials += results.filter(({ status }) => status === "denied").length;
    const waiting = replies.at(-1);
    if (waiting !== undefined) exchanges.push({ ...waiting, results });
  };

  const conclude = (text: string): void => {
    state = stateAfter(turn.state, [...conversation, { role: "assistant", text }]);
  };

  const decide = async (signal: AbortSignal): Promise<DriverDecision> => {
    /** The text of a paused reply so far. */
    let said = "";
    while (requests.count() < turn.limits.maxSteps) {
      const answer = await requests.send(
        (model) => [...beginningFor(model), ...exchangesFor(model, exchanges)],
        signal,
      );
      if (answer.kind === "failure") return { type: "fail", error: answer.error };
      const { parts, calls: made, by } = answer;
      const text = said + answer.text;
      replyCharacters += answer.text.length + JSON.stringify(made).length;
      if (replyCharacters > maxReplyCharacters) return { type: "fail", error: errorObject("model_response_invalid") };
      if (answer.isPaused) {
        // The model continues where it stopped when it gets its own text back. That is another step.
        replies.push({ by, parts, planned: [] });
        learn([]);
        said = text;
        continue;
      }
      if (made.length === 0) {
        const output = schema === undefined ? text : schema.read(text);
        if (output === undefined) return { type: "fail", error: errorObject("model_response_invalid", unfitting) };
        conclude(text);
        return { type: "complete", output };
      }
      const planned = planCalls(made, { turn, names, step: requests.count() - 1, room: maxDenials - denials });
      replies.push({ by, parts, planned });
      const calls = planned.flatMap((plan) => (plan.kind === "planned" ? [plan.call] : []));
      const escalation = calls.find(({ tool }) => tool === escalationToolName);
      if (escalation !== undefined) conclude(text || String(escalation.arguments["reason"]));
      if (calls.length > 0) return { type: "tools", calls };
      // No call can reach the gate. The model is told why, and has used a step.
      learn([]);
      said = "";
    }
    return { type: "fail", error: errorObject("step_limit_exceeded") };
  };

  return {
    next(input, signal) {
      if (input.type === "tool_results") learn(input.results);
      replies = [];
      return decide(signal);
    },
    memory() {
      const memory: Memory = { ...requests.memory(), replies, replyCharacters, state };
      return JSON.parse(JSON.stringify(memory)) as JsonValue;
    },
    recall(input, memory) {
      const stored = memory as unknown as Memory;
      if (input.type === "tool_results") learn(input.results);
      replies = stored.replies;
      for (const reply of replies.slice(0, -1)) exchanges.push({ ...reply, results: [] });
      ({ replyCharacters, state } = stored);
      requests.recall(stored);
    },
    metadata() {
      const { provider, model: id } = config;
      return { model: { provider, id, ...requests.metadata() }, ...(state && { state }) };
    },
    close() {
      events.close();
      return Promise.resolve();
    },
  };
}
