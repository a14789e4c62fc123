import type { RuntimePlugin } from "turnpike/runtime";

/** For a host that nobody gave a runtime: turns are admitted, recorded and fail with words that say what to do. */
export const noRuntime: RuntimePlugin = {
  manifest: { id: "none", version: "1" },
  run: () =>
    Promise.resolve({
      type: "fail",
      error: { code: "runtime_failed", message: "This host has no runtime configured.", retryable: false },
    }),
};
