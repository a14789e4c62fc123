import type { RuntimePlugin } from "turnpike/runtime";
import { ConfigError } from "../../base/index.ts";
import { demoRuntime } from "./scripted.ts";
import { openModel } from "./model/providers.ts";
import type { ModelConfig, RuntimeConfig } from "./model/runtime-config.ts";

/** For a host without a runtime: turns are admitted and recorded, and fail with a message that says what is missing. */
const noRuntime: RuntimePlugin = {
  manifest: { id: "none", version: "1" },
  run: () =>
    Promise.resolve({
      type: "fail",
      error: { code: "runtime_failed", message: "This host has no runtime configured.", retryable: false },
    }),
};

/** Two runtimes of one kind, because a plugin is not told whether the sender of its turn was verified. */
export interface Runtimes {
  /** For turns whose sender is only claimed by the caller. */
  runtime: RuntimePlugin;
  /** For turns whose message is in the agent's inbox. Without it, `runtime` runs them too. */
  runtimeOfVerifiedSenders?: RuntimePlugin;
}

/** Opens the configured runtimes. Throws `ConfigError` when something is missing for them. */
export async function openRuntimes(config: RuntimeConfig, env: NodeJS.ProcessEnv): Promise<Runtimes> {
  switch (config.kind) {
    case "none":
      return { runtime: noRuntime };
    case "scripted":
      return { runtime: demoRuntime };
    case "model": {
      const apiKey = readApiKey(config, env);
      // It is loaded only when it is used, because loading takes time.
      const { modelRuntime } = await import("./model/model-runtime.ts");
      const model = await openModel(config, apiKey);
      return {
        runtime: modelRuntime(config, model),
        runtimeOfVerifiedSenders: modelRuntime(config, model, true),
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
