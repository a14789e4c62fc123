import type { RuntimePlugin } from "turnpike/runtime";
import { ConfigError } from "../../base/index.ts";
import { demoRuntime } from "./scripted.ts";
import type { ModelConfig, RuntimeConfig } from "./model/runtime-config.ts";

/** For a host that nobody gave a runtime: turns are admitted, recorded and fail with words that say what to do. */
const noRuntime: RuntimePlugin = {
  manifest: { id: "none", version: "1" },
  run: () =>
    Promise.resolve({
      type: "fail",
      error: { code: "runtime_failed", message: "This host has no runtime configured.", retryable: false },
    }),
};

/** Two runtimes of one kind: a runtime learns nothing of its turn but what every plugin does. */
export interface Runtimes {
  /** For turns whose sender is the caller's word. */
  runtime: RuntimePlugin;
  /** For turns whose message lies in the agent's inbox; the same one when it makes no difference. */
  runtimeOfVerifiedSenders?: RuntimePlugin;
}

/** The runtimes that the configuration asks for. Throws `ConfigError` when something is missing for them. */
export async function openRuntimes(config: RuntimeConfig, env: NodeJS.ProcessEnv): Promise<Runtimes> {
  switch (config.kind) {
    case "none":
      return { runtime: noRuntime };
    case "scripted":
      return { runtime: demoRuntime };
    case "model": {
      const apiKey = readApiKey(config, env);
      // Loaded when it is used: the other commands need not wait for it.
      const { modelRuntime } = await import("./model/model-runtime.ts");
      return {
        runtime: modelRuntime(config, apiKey),
        runtimeOfVerifiedSenders: modelRuntime(config, apiKey, true),
      };
    }
  }
}

/** The key in the variable that the configuration names; undefined when it names none. */
export function readApiKey({ apiKeyEnv }: ModelConfig, env: NodeJS.ProcessEnv): string | undefined {
  if (apiKeyEnv === undefined) return undefined;
  const key = env[apiKeyEnv];
  if (key === undefined || key === "") {
    throw new ConfigError(`runtime.apiKeyEnv: the variable ${apiKeyEnv} is not set. Put the key of the model there.`);
  }
  if (/^[\x21-\x7e]+$/.test(key)) return key;
  throw new ConfigError(`runtime.apiKeyEnv: the variable ${apiKeyEnv} holds something that is no key.`);
}
