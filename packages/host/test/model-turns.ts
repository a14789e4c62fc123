import { modelRuntime } from "../src/turns/runtimes/model/model-runtime.ts";
import type { ModelConfig } from "../src/turns/runtimes/model/runtime-config.ts";
import { modelKey, openModelServer, type ModelServer, type ScriptedReply } from "./model-server.ts";
import { turnWorldOf, type TurnWorld, type TurnWorldOptions } from "../../turnpike/test/turns.ts";

/** Every provider that can be configured. */
export const providers: readonly ModelConfig["provider"][] = ["openai", "anthropic", "openai-compatible"];

/** A world whose turns are run by a model on a server of its own. */
export interface ModelWorld extends TurnWorld {
  server: ModelServer;
}

/** What a test differs in: the model's settings, and the world around it. */
export interface ModelWorldOptions {
  config?: Partial<Pick<ModelConfig, "model" | "instructions" | "maxOutputTokens" | "temperature">>;
  world?: TurnWorldOptions;
}

/** Starts a server that follows the script, and a world that thinks with it. */
export async function modelWorldOf(
  provider: ModelConfig["provider"],
  script: readonly ScriptedReply[] | ScriptedReply,
  { config, world }: ModelWorldOptions = {},
): Promise<ModelWorld> {
  const server = await openModelServer(provider === "anthropic" ? "anthropic" : "openai", script);
  const runtime = modelRuntime(
    { kind: "model", provider, model: "model-1", baseUrl: server.url, apiKeyEnv: "MODEL_KEY", ...config },
    modelKey,
  );
  return { ...turnWorldOf(runtime, world), server };
}
