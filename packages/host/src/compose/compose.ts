import type { ToolHandler } from "turnpike/kernel";
import {
  createAccessGuard,
  createContextResolver,
  createJwtVerifier,
  createRateLimit,
  ensureAdminToken,
  type OperatorToken,
} from "../access/index.ts";
import { authzenProtocol } from "../protocols/authzen/index.ts";
import {
  auditKeyFile,
  checkpointFile,
  type Checkpoints,
  createCheckpoints,
  openSigningKey,
  refuseHalfRotated,
} from "../audit/index.ts";
import type { Config } from "./config.ts";
import { type Database, heartbeat, openDatabase } from "../storage/index.ts";
import { createHostKernel } from "./kernel.ts";
import type { Runtimes } from "../turns/index.ts";
import {
  createMetrics,
  errorFacts,
  type Log,
  type Metrics,
  openTracing,
  queryLog,
  type Tracing,
} from "../observe/index.ts";
import { loadMcpPool, serversAsOwnUser } from "../mcp-servers/index.ts";
import { createNotices, createSender, openOutbox, openWebhooks, type Webhook } from "../notify/index.ts";
import { consoleProtocol } from "../protocols/console/index.ts";
import { mcpProtocol } from "../protocols/mcp/index.ts";
import { openPages } from "../protocols/pages/index.ts";
import { serviceProtocol } from "../protocols/service/index.ts";
import { createFront, createOriginOf, createReadiness, serveProtocol, startServer } from "../front/index.ts";
import { recordFirstPins } from "./first-pins.ts";
import { openManagement } from "./management.ts";
import { openRetention } from "./retention.ts";
import { databaseError, startError } from "./start-error.ts";
import { openStores, type Stores } from "./stores.ts";
import { openTurns } from "./turns.ts";
import { version } from "../base/index.ts";

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
export interface HostOptions extends Runtimes {
  log: Log;
  tools?: readonly ToolHandler[];
  /** Whether the host says of itself that it is a demo. */
  isDemo?: boolean;
  /** Whether to replace the operator's token that a host made before. */
  isNewOperatorTokenWanted?: boolean;
  /** Where the secrets of webhooks are; the environment of the process unless given. */
  env?: NodeJS.ProcessEnv;
}

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

/** Starts a host. A host that cannot start leaves nothing open. */
export async function startHost(config: Config, options: HostOptions): Promise<Host> {
  const webhooks = openWebhooks(config.notify, options.env ?? process.env);
  const metrics = createMetrics();
  const openPool = await loadMcpPool(config.mcp, options.log);
  const tracing = await openTracing({ log: options.log, metrics });
  const database = await openDatabase(config.database, queryLog(metrics)).catch((error: unknown) => {
    throw databaseError(error, config);
  });
  try {
    return await wire(config, options, { database, metrics, tracing, openPool, webhooks });
  } catch (error) {
    await database.close();
    throw startError(error, config);
  }
}

/** What is made before the wiring. */
interface Parts {
  database: Database;
  metrics: Metrics;
  tracing: Tracing | undefined;
  openPool: Awaited<ReturnType<typeof loadMcpPool>>;
  webhooks: readonly Webhook[];
}

/** The wiring of the whole host, from the database up to the socket. */
async function wire(
  config: Config,
  {
    log,
    runtime,
    runtimeOfVerifiedSenders = runtime,
    tools = [],
    isDemo = false,
    isNewOperatorTokenWanted = false,
  }: HostOptions,
  { database, metrics, tracing, openPool, webhooks }: Parts,
): Promise<Host> {
  const { openEscalations, unreadMessages } = config.limits;
  const { expireHours, permitMinutes, refusalMinutes, approvals } = config.escalations;
  const clock = (): Date => new Date();
  let { consoleUrl } = config.notify;
  const notices = createNotices({
    webhooks,
    // Nothing is told of before the host listens and knows its own address.
    consoleUrl: () => consoleUrl ?? "",
    clock,
    onDropped(webhook, isFirst) {
      metrics.webhookMessages("dropped");
      if (isFirst) log.error({ webhook: webhook.shown }, "denials not told of, because too many wait for this webhook");
    },
  });
  const stores = openStores(database, {
    escalationMs: expireHours * hourMs,
    permitMs: permitMinutes * minuteMs,
    refusalMs: refusalMinutes * minuteMs,
    approvals,
    openEscalations,
    unreadMessages,
    ...notices,
  });
  const onAuditError = (error: unknown): void =>
    log.error(errorFacts(error), "operator's change not kept on the trail");
  const pool = openPool({ store: stores.mcpPins, pinFirst: recordFirstPins({ stores, log, onAuditError }) });
  const access = createAccessGuard({ settings: stores.settings, clock });
  const { kernel, readOnlyKernel, ownTools, toolNamespaces, resourceActions } = createHostKernel({
    stores,
    access,
    metrics,
    log,
    tools,
    providers: pool.providers,
    resources: pool.resources,
    isTraced: tracing !== undefined,
    limits: config.tools,
  });
  const { api, engine } = await openTurns(config, {
    runtime,
    runtimeOfVerifiedSenders,
    database,
    stores,
    kernel,
    access,
    isHidden: pool.isHidden,
    metrics,
    tracing,
    log,
    clock,
  });
  const rateLimit = createRateLimit({ perSecond: config.limits.requestsPerSecond, burst: config.limits.burst });
  const onKeySetError = (error: unknown): void => log.error(errorFacts(error), "key set not read");
  const callers = {
    credentials: stores.credentials,
    jwt: config.jwt && createJwtVerifier(config.jwt, { onKeySetError }),
    isDeleted: stores.tenants.isDeleted,
    rateLimit,
    clock,
  };
  const resolveContext = createContextResolver({ ...callers, settings: stores.settings });
  refuseHalfRotated(auditKeyFile(config));
  const key = openSigningKey(auditKeyFile(config));
  const checkpoints = createCheckpoints({
    file: checkpointFile(config),
    key,
    audit: stores.audit,
    database,
    log,
    clock,
  });
  const originOf = createOriginOf(config);
  const retention = openRetention(config, { database, stores, checkpoints, key, log, clock });
  const management = openManagement({
    stores,
    checkpoints,
    database,
    kernel,
    readOnlyKernel,
    toolNamespaces,
    resourceActions,
    mcp: pool.reviews,
    isDemo,
    clock,
    removeDeletedTenants: retention.removeDeletedTenants,
    wakeTurns: engine.nudge,
    originOf,
    rateLimit,
    onAuditError,
    api,
    maxStreams: config.limits.eventStreams,
    metrics,
    log,
  });
  const pages = openPages({ checkReady: createReadiness(() => heartbeat(database)), log });
  const authzen = {
    kernel,
    access: callers,
    isLivingTenant: async (tenant: string) =>
      (await stores.audit.isKnown(tenant)) && !(await stores.tenants.isDeleted(tenant)),
    originOf,
    clock,
  };
  // A further protocol is a room and a line here. The service is the last, because it owns every other path.
  const front = createFront({
    protocols: [
      management.protocol,
      consoleProtocol(),
      serveProtocol(authzenProtocol(authzen)),
      serveProtocol(
        mcpProtocol({
          api,
          resolveContext,
          known: { tools: ownTools, namespaces: pool.providers.flatMap(({ namespaces }) => namespaces) },
          offers: pool.offers,
          about: { originOf, issuer: config.jwt?.issuer },
          version,
        }),
      ),
      serveProtocol(serviceProtocol(api, resolveContext, pages, stores.turns)),
    ],
    log,
    metrics,
    tracing,
  });
  const outbox = openOutbox(database);
  const sender = createSender({
    webhooks,
    outbox,
    notices,
    expire: stores.escalations.expire,
    isShared: database.isShared,
    clock,
    log,
    metrics,
  });
  watchQueues(metrics, stores, checkpoints);
  if (webhooks.length > 0) metrics.watchQueue("webhooks", outbox.count);
  for (const { server, says } of serversAsOwnUser(config.mcp ?? { servers: {} })) log.warn({ server }, says);
  const listening = await startServer(config, front, {
    onRefused(refusal) {
      metrics.request("other", refusal.status, 0);
      log.info({ route: "other", ...refusal }, "request");
    },
    tls: {
      onReload: () => log.info({}, "certificate renewed"),
      onError: (error) => log.error(errorFacts(error), "certificate not renewed: the one before stays in force"),
    },
  });
  const origin = config.publicUrl === undefined ? listening.url : new URL(config.publicUrl).origin;
  consoleUrl ??= `${origin}/console`;
  // This comes after everything that can fail: a token that is shown only once must not be made and then not shown.
  const operatorToken = await ensureAdminToken(stores, config, { isNewWanted: isNewOperatorTokenWanted }).catch(
    async (error: unknown) => {
      await listening.close();
      throw error;
    },
  );
  retention.start();
  checkpoints.start(config.audit.checkpointSeconds);
  engine.start();
  sender.start();
  return {
    url: listening.url,
    origin,
    stores,
    operatorToken,
    async close() {
      // At once: a stream that is open would hold up everything else.
      const isQuiet = management.close();
      await retention.close();
      await Promise.all([listening.close(), engine.close(), sender.close(), isQuiet]);
      await pool.close();
      await stores.audit.flush();
      await stores.replay.close();
      await checkpoints.close();
      await database.close();
      await tracing?.close();
    },
  };
}

function watchQueues(metrics: Metrics, { audit, escalations, messages }: Stores, checkpoints: Checkpoints): void {
  metrics.watchQueue("audit", () => audit.waiting);
  metrics.watchQueue("checkpoints", () => checkpoints.waiting);
  metrics.watchQueue("escalations", () => escalations.countPending(new Date().toISOString()));
  metrics.watchQueue("messages", () => messages.countUnacknowledged());
}
