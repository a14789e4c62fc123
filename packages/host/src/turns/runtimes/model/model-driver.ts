import type { ModelMessage } from "ai";
import type { JsonObject, ToolResult } from "turnpike/contracts";
import { errorObject } from "turnpike/kernel";
import {
  escalationToolName,
  type DriverDecision,
  type RuntimeHost,
  type RuntimeTurn,
  type TurnDriver,
  type TurnSession,
} from "turnpike/runtime";
import { askModel, type ModelAnswer, type ModelRequest, type SaidPart } from "./model-request.ts";
import { readConversation, stateAfter, textOf, type Entry } from "./conversation.ts";
import { instructionsFor } from "./instructions.ts";
import { planCalls, type PlannedCall } from "./model-calls.ts";
import { openModelEvents } from "./model-events.ts";
import { exchangeOf, messagesOf, toolSet } from "./model-messages.ts";
import { openTally } from "./model-usage.ts";
import type { Model } from "./providers.ts";
import type { ModelConfig } from "./runtime-config.ts";
import { nameTools, type ToolNames } from "./tool-names.ts";

/** After so many denials no call reaches the gate any more: a model that runs wild stays bounded. */
const maxDenials = 512;

/** A model may say so many characters in a turn, calls included: all of it is sent back to it with every step. */
const maxSaid = 1_000_000;

/** Lets a model decide what a turn does: it asks, and the gate decides. */
export function modelDriver(config: ModelConfig, model: Model, isSenderVerified = false): TurnDriver {
  return {
    manifest: { id: "model", version: "1" },
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

interface Opening {
  turn: RuntimeTurn;
  host: Pick<RuntimeHost, "emit">;
  earlier: readonly Entry[];
  isSenderVerified: boolean;
}

function openSession(config: ModelConfig, model: Model, opening: Opening): TurnSession {
  const { turn, host, earlier } = opening;
  const names = nameTools(turn.tools.map(({ name }) => name));
  const request = requestFor(config, model, opening, names);
  const events = openModelEvents(host);
  const tally = openTally();
  const heard: Entry[] = [...earlier, { role: "user", text: textOf(turn.message.payload) }];
  const messages: ModelMessage[] = messagesOf(heard);
  let pending: { said: SaidPart[]; planned: PlannedCall[] } = { said: [], planned: [] };
  let requests = 0;
  let denials = 0;
  let saidSoFar = 0;
  let state: JsonObject | undefined;

  const ask = async (signal: AbortSignal): Promise<ModelAnswer> => {
    const step = requests;
    requests += 1;
    const listener = {
      text: (delta: string) => events.text(step, delta),
      call: (name: string) => events.call({ step, tool: names.fromModel(name).slice(0, 256) }),
    };
    const answer = await askModel(request, messages, listener, signal);
    events.flush();
    const { finish } = answer;
    if (finish !== undefined) events.finished({ step, finishReason: finish.reason, usage: tally.add(finish) });
    return answer;
  };

  const learn = (results: readonly ToolResult[]): void => {
    denials += results.filter(({ status }) => status === "denied").length;
    messages.push(...exchangeOf(pending.said, pending.planned, results));
  };

  const conclude = (text: string): void => {
    state = stateAfter(turn.state, [...heard, { role: "assistant", text }]);
  };

  const decide = async (signal: AbortSignal): Promise<DriverDecision> => {
    while (requests < turn.limits.maxSteps) {
      const answer = await ask(signal);
      if (answer.kind === "failure") return { type: "fail", error: answer.error };
      const { text, said, calls: made } = answer;
      saidSoFar += text.length + JSON.stringify(made).length;
      if (saidSoFar > maxSaid) return { type: "fail", error: errorObject("model_response_invalid") };
      if (made.length === 0) {
        conclude(text);
        return { type: "complete", output: text };
      }
      const room = maxDenials - denials;
      pending = { said, planned: planCalls(made, { turn, names, step: requests - 1, room }) };
      const calls = pending.planned.flatMap((plan) => (plan.kind === "asked" ? [plan.call] : []));
      const escalation = calls.find(({ tool }) => tool === escalationToolName);
      if (escalation !== undefined) conclude(text || String(escalation.arguments["reason"]));
      if (calls.length > 0) return { type: "tools", calls };
      // Nothing to ask the gate: the model is told why, and has spent a step.
      learn([]);
    }
    return { type: "fail", error: errorObject("step_limit_exceeded") };
  };

  return {
    next(input, signal) {
      if (input.type === "tool_results") learn(input.results);
      return decide(signal);
    },
    metadata() {
      const { provider, model: id } = config;
      return { model: { provider, id, requests, ...tally.total() }, ...(state && { state }) };
    },
    close() {
      events.close();
      return Promise.resolve();
    },
  };
}

function requestFor(config: ModelConfig, model: Model, opening: Opening, names: ToolNames): ModelRequest {
  const { instructions: own, maxOutputTokens, temperature } = config;
  const { turn, isSenderVerified } = opening;
  return {
    model,
    instructions: instructionsFor(turn, names, { own, isSenderVerified }),
    tools: toolSet(turn.tools, names),
    settings: { ...(maxOutputTokens && { maxOutputTokens }), ...(temperature !== undefined && { temperature }) },
  };
}
