import type { ModelMessage } from "ai";
import type { JsonObject, JsonValue, ToolResult } from "turnpike/contracts";
import { errorObject } from "turnpike/kernel";
import {
  escalationToolName,
  standardRuntime,
  type DriverDecision,
  type RuntimeHost,
  type RuntimePlugin,
  type RuntimeTurn,
  type TurnDriver,
  type TurnSession,
} from "turnpike/runtime";
import { sendModelRequest, type ModelAnswer, type ModelRequest, type ReplyPart } from "./model-request.ts";
import { readConversation, stateAfter, textOf, type Entry } from "./conversation.ts";
import { instructionsFor } from "./instructions.ts";
import { planCalls, type PlannedCall } from "./model-calls.ts";
import { openModelEvents } from "./model-events.ts";
import { exchangeOf, messagesOf, toolSet } from "./model-messages.ts";
import { openModelUsage } from "./model-usage.ts";
import type { OpenModel } from "./providers.ts";
import type { ModelConfig } from "./runtime-config.ts";
import { nameTools, type ToolNames } from "../../../base/index.ts";

/** After so many denials in a turn no further call reaches the gate. It bounds a model that keeps trying. */
const maxDenials = 512;

/** How many characters a model may reply in a turn, calls included. All of them are sent back to it with every step. */
const maxReplyCharacters = 1_000_000;

/** A runtime whose turns a model drives. With `isSenderVerified` the model is told in every turn that the sender was verified. */
export function modelRuntime(config: ModelConfig, model: OpenModel, isSenderVerified = false): RuntimePlugin {
  return standardRuntime(modelDriver(config, model, isSenderVerified));
}

/** Lets a model drive a turn: the model requests calls, and the gate decides about them. */
function modelDriver(config: ModelConfig, model: OpenModel, isSenderVerified: boolean): TurnDriver {
  return {
    manifest: { id: "model", version: "1" },
    resumes: (version) => version === "1",
    open(turn, host) {
      const earlier = readConversation(turn.state);
      const session =
        earlier === undefined ? refusing : openSession(config, model, { turn, host, earlier, isSenderVerified });
      return Promise.resolve(session);
    },
  };
}

const refusing: TurnSession = {
  next: () => Promise.resolve({ type: "fail", error: errorObject("invalid_turn_state") }),
};

/** A reply that called tools. */
interface Reply {
  parts: ReplyPart[];
  planned: PlannedCall[];
}

/** What a session has to know of a decision to go on behind it. The results of its calls come with the next one. */
interface Memory {
  replies: Reply[];
  requests: number;
  replyCharacters: number;
  usage: JsonObject;
  state: JsonObject | undefined;
}

interface Opening {
  turn: RuntimeTurn;
  host: Pick<RuntimeHost, "emit">;
  earlier: readonly Entry[];
  isSenderVerified: boolean;
}

function openSession(config: ModelConfig, model: OpenModel, opening: Opening): TurnSession {
  const { turn, host, earlier } = opening;
  const names = nameTools(turn.tools.map(({ name }) => name));
  const modelRequest = requestFor(config, model, opening, names);
  const events = openModelEvents(host);
  const modelUsage = openModelUsage();
  const conversation: Entry[] = [...earlier, { role: "user", text: textOf(turn.message.payload) }];
  const messages: ModelMessage[] = messagesOf(conversation);
  let pending: Reply = { parts: [], planned: [] };
  /** The replies of this decision: the last one waits for its results. */
  let replies: Reply[] = [];
  let requests = 0;
  let denials = 0;
  let replyCharacters = 0;
  let state: JsonObject | undefined;

  const request = async (signal: AbortSignal): Promise<ModelAnswer> => {
    const step = requests;
    requests += 1;
    const listener = {
      text: (delta: string) => events.text(step, delta),
      call: (name: string) => events.call({ step, tool: names.fromModel(name).slice(0, 256) }),
    };
    const answer = await sendModelRequest(modelRequest, messages, listener, signal);
    events.flush();
    const { finish } = answer;
    if (finish !== undefined) events.finished({ step, finishReason: finish.reason, usage: modelUsage.add(finish) });
    return answer;
  };

  const learn = (results: readonly ToolResult[]): void => {
    denials += results.filter(({ status }) => status === "denied").length;
    messages.push(...exchangeOf(pending.parts, pending.planned, results));
  };

  const conclude = (text: string): void => {
    state = stateAfter(turn.state, [...conversation, { role: "assistant", text }]);
  };

  const decide = async (signal: AbortSignal): Promise<DriverDecision> => {
    while (requests < turn.limits.maxSteps) {
      const answer = await request(signal);
      if (answer.kind === "failure") return { type: "fail", error: answer.error };
      const { text, parts, calls: made } = answer;
      replyCharacters += text.length + JSON.stringify(made).length;
      if (replyCharacters > maxReplyCharacters) return { type: "fail", error: errorObject("model_response_invalid") };
      if (made.length === 0) {
        conclude(text);
        return { type: "complete", output: text };
      }
      const room = maxDenials - denials;
      pending = { parts, planned: planCalls(made, { turn, names, step: requests - 1, room }) };
      replies.push(pending);
      const calls = pending.planned.flatMap((plan) => (plan.kind === "planned" ? [plan.call] : []));
      const escalation = calls.find(({ tool }) => tool === escalationToolName);
      if (escalation !== undefined) conclude(text || String(escalation.arguments["reason"]));
      if (calls.length > 0) return { type: "tools", calls };
      // No call can reach the gate. The model is told why, and has used a step.
      learn([]);
    }
    return { type: "fail", error: errorObject("step_limit_exceeded") };
  };

  return {
    next(input, signal) {
      replies = [];
      if (input.type === "tool_results") learn(input.results);
      return decide(signal);
    },
    memory() {
      const memory: Memory = { replies, requests, replyCharacters, usage: modelUsage.total(), state };
      return JSON.parse(JSON.stringify(memory)) as JsonValue;
    },
    recall(input, memory) {
      const kept = memory as unknown as Memory;
      if (input.type === "tool_results") learn(input.results);
      kept.replies.forEach((reply, place) => {
        pending = reply;
        if (place < kept.replies.length - 1) learn([]);
      });
      ({ requests, replyCharacters, state } = kept);
      modelUsage.restore(kept.usage);
    },
    metadata() {
      const { provider, model: id } = config;
      return { model: { provider, id, requests, ...modelUsage.total() }, ...(state && { state }) };
    },
    close() {
      events.close();
      return Promise.resolve();
    },
  };
}

function requestFor(config: ModelConfig, model: OpenModel, opening: Opening, names: ToolNames): ModelRequest {
  const { instructions: own, maxOutputTokens, temperature } = config;
  const { turn, isSenderVerified } = opening;
  return {
    model,
    instructions: instructionsFor(turn, names, { own, isSenderVerified }),
    tools: toolSet(turn.tools, names, model),
    settings: { ...(maxOutputTokens && { maxOutputTokens }), ...(temperature !== undefined && { temperature }) },
  };
}
