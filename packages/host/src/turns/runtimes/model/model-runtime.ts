import { standardRuntime, type RuntimePlugin } from "turnpike/runtime";
import { modelDriver } from "./model-driver.ts";
import { openModel } from "./providers.ts";
import type { ModelConfig } from "./runtime-config.ts";

/**
 * A runtime that thinks with the configured model. The key goes to its provider and nowhere else. `isSenderVerified` is
 * what the model is told in every turn, so such a runtime is for turns whose sender was verified.
 */
export function modelRuntime(config: ModelConfig, apiKey: string | undefined, isSenderVerified = false): RuntimePlugin {
  return standardRuntime(modelDriver(config, openModel(config, apiKey), isSenderVerified));
}
