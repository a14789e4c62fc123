import { ensureAdminToken, type OperatorToken } from "../access/index.ts";
import type { Config } from "./config.ts";
import { openDatabase } from "../storage/index.ts";
import { createMetrics, errorFacts, openTracing, queryLog } from "../telemetry/index.ts";
import { loadMcpPool } from "../mcp-servers/index.ts";
import { openWebhooks } from "../webhooks/index.ts";
import { startServer } from "../front/index.ts";
import { refuseOlder } from "./refuse-older.ts";
import { databaseError, startError } from "./start-error.ts";
import type { Stores } from "./stores.ts";
import { wireHost, type HostParts, type WireOptions } from "./wire-host.ts";

/** A running host. */
export interface Host {
  url: string;
  /** Where browsers reach it: its public URL, or where it listens. */
  origin: string;
  stores: Stores;
  operatorToken: OperatorToken;
  /** Finishes running requests, flushes, and closes everything. */
  close(): Promise<void>;
}

/** The options besides the configuration. */
export interface HostOptions extends WireOptions {
  /** Whether to replace the operator's token that a host made before. */
  isNewOperatorTokenWanted?: boolean;
  /** Where the secrets of webhooks are; the environment of the process unless given. */
  env?: NodeJS.ProcessEnv;
  /** Fills the stores before the host listens: no request meets what is only half there. */
  prepare?(stores: Stores): Promise<void>;
}

/** Starts a host. A host that cannot start leaves nothing open. */
export function startHost(config: Config, options: HostOptions): Promise<Host> {
  return openParts(config, options, (parts) => listen(config, options, parts));
}

/** Opens what a host is wired with, and closes it when the host cannot start. */
export async function openParts<Started>(
  config: Config,
  { log, env = process.env }: Pick<HostOptions, "log" | "env">,
  start: (parts: Omit<HostParts, "consoleUrl">) => Promise<Started>,
): Promise<Started> {
  const webhooks = openWebhooks(config.notify, env);
  const metrics = createMetrics();
  metrics.watchLog(log);
  const openPool = await loadMcpPool(config.mcp, log);
  const tracing = await openTracing({ log, metrics });
  const opening = openDatabase(config.database, queryLog(metrics), refuseOlder(config));
  const database = await opening.catch((error: unknown) => {
    throw databaseError(error, config);
  });
  try {
    return await start({ database, metrics, tracing, openPool, webhooks });
  } catch (error) {
    await database.close();
    throw startError(error, config);
  }
}

/** Wires the host, and lets it listen. */
async function listen(
  config: Config,
  { isNewOperatorTokenWanted = false, prepare, ...options }: HostOptions,
  parts: Omit<HostParts, "consoleUrl">,
): Promise<Host> {
  const { metrics } = parts;
  const { log } = options;
  let { consoleUrl } = config.notify;
  const wired = await wireHost(config, options, { ...parts, consoleUrl: () => consoleUrl ?? "" });
  await prepare?.(wired.stores);
  const listening = await startServer(config, wired.front, {
    onRefused(refusal) {
      metrics.request("other", refusal.status, 0);
      log.info({ route: "other", ...refusal }, "request");
    },
    tls: {
      onReload: () => log.info({}, "certificate renewed"),
      onError: (error) =>
        log.error(errorFacts(error), "could not renew certificate, will use the one before and retry"),
    },
  });
  const origin = config.publicUrl === undefined ? listening.url : new URL(config.publicUrl).origin;
  consoleUrl ??= `${origin}/console`;
  // This comes after everything that can fail: a token that is shown only once must not be made and then not shown.
  const operatorToken = await ensureAdminToken(wired.stores, config, { isNewWanted: isNewOperatorTokenWanted }).catch(
    async (error: unknown) => {
      await listening.close();
      throw error;
    },
  );
  wired.start();
  return {
    url: listening.url,
    origin,
    stores: wired.stores,
    operatorToken,
    close: () => wired.close(listening.close),
  };
}
