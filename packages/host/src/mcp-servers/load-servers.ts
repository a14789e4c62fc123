import type { Log } from "../telemetry/index.ts";
import type { McpConfig } from "./mcp-config.ts";
import type { McpPinning, McpPool } from "./mcp-pool.ts";
import { createToolPins } from "./tool-pins.ts";
import { createReviews } from "./tool-review.ts";
import type { ServerTrial, TrialOptions } from "./try-server.ts";

// The MCP library is large. It is loaded only when servers are configured, so that other hosts start sooner.

/** Like `prepareMcpPool`, which it loads when there are servers. */
export async function loadMcpPool(config: McpConfig | undefined, log: Log): Promise<(pinning: McpPinning) => McpPool> {
  if (Object.keys(config?.servers ?? {}).length === 0) return (pinning) => poolWithoutServers(pinning, log);
  const { prepareMcpPool } = await import("./mcp-pool.ts");
  return prepareMcpPool(config, log);
}

/** Like the function of this name in `try-server.ts`, which it loads. */
export async function tryServers(config: McpConfig, options: TrialOptions): Promise<ServerTrial[]> {
  const trial = await import("./try-server.ts");
  return trial.tryServers(config, options);
}

/** A pool without servers. Operators still see the pins of servers that are no longer configured. */
function poolWithoutServers(pinning: McpPinning, log: Log): McpPool {
  return {
    providers: [],
    resources: [],
    offers: () => Promise.resolve([]),
    reviews: createReviews(new Map(), pinning.store, createToolPins({ ...pinning, log })),
    start() {},
    unavailable: () => [],
    listen: () => () => {},
    withdrawn: () => Promise.resolve([]),
    mayServe: () => true,
    isHidden: () => false,
    close: () => Promise.resolve(),
  };
}
