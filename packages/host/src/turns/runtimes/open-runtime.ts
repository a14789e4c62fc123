import type { RuntimePlugin } from "turnpike/runtime";
import { demoRuntime } from "./scripted.ts";
import { modelsIn, openModel } from "./model/providers.ts";
import type { RuntimeConfig } from "./model/runtime-config.ts";

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
      const models = await Promise.all(modelsIn(config).map((model) => openModel(model, env)));
      // It is loaded only when it is used, because loading takes time.
      const { modelRuntime } = await import("./model/model-runtime.ts");
      return {
        runtime: modelRuntime(config, models),
        runtimeOfVerifiedSenders: modelRuntime(config, models, { isSenderVerified: true }),
      };
    }
  }
}
