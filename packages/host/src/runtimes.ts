import type { RuntimePlugin } from "turnpike/runtime";
import { ConfigError } from "./config.ts";
import { demoRuntime } from "./demo/demo-runtime.ts";
import type { ModelConfig, RuntimeConfig } from "./models/runtime-config.ts";

/** For a host that nobody gave a runtime: turns are admitted, recorded and fail with words that say what to do. */
const noRuntime: RuntimePlugin = {
  manifest: { id: "none", version: "1" },
  run: () =>
    Promise.resolve({
      type: "fail",
      error: { code: "runtime_failed", message: "This host has no runtime configured.", retryable: false },
    }),
};

/** The runtime that the configuration asks for. Throws `ConfigError` when something is missing for it. */
export async function openRuntime(config: RuntimeConfig, env: NodeJS.ProcessEnv): Promise<RuntimePlugin> {
  switch (config.kind) {
    case "none":
      return noRuntime;
    case "scripted":
      return demoRuntime;
    case "model": {
      const apiKey = readApiKey(config, env);
      // Loaded when it is used: the other commands need not wait for it.
      const { modelRuntime } = await import("./models/model-runtime.ts");
      return modelRuntime(config, apiKey);
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
