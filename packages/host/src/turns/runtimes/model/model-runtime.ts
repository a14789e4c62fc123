import type { ErrorObject } from "turnpike/contracts";
import { errorObject } from "turnpike/kernel";
import { standardRuntime, type RuntimePlugin, type TurnSession } from "turnpike/runtime";
import { systemClock, type RetryClock } from "./ask-models.ts";
import { readConversation } from "./conversation.ts";
import { openModelSession } from "./model-session.ts";
import { readOutputSchema } from "./output-schema.ts";
import { readPayload } from "./payload.ts";
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
      if (earlier === undefined) return Promise.resolve(refusing(errorObject("invalid_turn_state")));
      const payload = readPayload(turn.message.payload);
      if ("error" in payload) return Promise.resolve(refusing(payload.error));
      const schema = readOutputSchema(turn.metadata);
      if (schema !== undefined && "error" in schema) return Promise.resolve(refusing(schema.error));
      const options = { config, models, clock, isSenderVerified, turn, host, earlier, payload, schema };
      return Promise.resolve(openModelSession(options));
    },
  });
}

/** A session that ends its turn without asking a model. */
function refusing(reason: ErrorObject): TurnSession {
  return { next: () => Promise.resolve({ type: "fail", error: reason }) };
}
