import { errorObject } from "turnpike/kernel";
import { standardRuntime, type RuntimePlugin, type TurnSession } from "turnpike/runtime";
import { systemClock, type RetryClock } from "./ask-models.ts";
import { readConversation } from "./conversation.ts";
import { openModelSession } from "./model-session.ts";
import type { OpenModel } from "./providers.ts";
import type { ModelConfig } from "./runtime-config.ts";

/** What differs between runtimes of one configuration. */
export interface ModelRuntimeOptions {
  /** The model is told in every turn that the sender was verified. */
  isSenderVerified?: boolean;
  clock?: RetryClock;
}

/** A runtime whose turns are driven by the first of the models that answers: it requests calls, the gate decides about them. */
export function modelRuntime(
  config: ModelConfig,
  models: readonly OpenModel[],
  { isSenderVerified = false, clock = systemClock }: ModelRuntimeOptions = {},
): RuntimePlugin {
  return standardRuntime({
    manifest: { id: "model", version: "1" },
    resumes: (version) => version === "1",
    open(turn, host) {
      const earlier = readConversation(turn.state);
      if (earlier === undefined) return Promise.resolve(refusing);
      return Promise.resolve(openModelSession({ config, models, clock, isSenderVerified, turn, host, earlier }));
    },
  });
}

const refusing: TurnSession = {
  next: () => Promise.resolve({ type: "fail", error: errorObject("invalid_turn_state") }),
};
