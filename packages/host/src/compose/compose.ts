import type { ToolHandler } from "turnpike/kernel";
import { createServiceApi } from "turnpike/http";
import { createTurnExecutor, type RuntimePlugin, type TurnExecutionPort } from "turnpike/runtime";
import {
  callOfKeptCaller,
  createAccessGuard,
  createContextResolver,
  createJwtVerifier,
  createRateLimit,
  ensureAdminToken,
  type OperatorToken,
  verifySenders,
} from "../access/index.ts";
import { adminProtocol } from "../protocols/admin/index.ts";
import { authzenProtocol } from "../protocols/authzen/index.ts";
import { auditKeyFile, checkpointFile, type Checkpoints, createCheckpoints, openSigningKey } from "../audit/index.ts";
import type { Config } from "./config.ts";
import { type Database, heartbeat, openDatabase } from "../storage/index.ts";
import { createHostKernel } from "./kernel.ts";
import { createTurnEngine, openTurnSlots, type Runtimes, turnLimitsOf } from "../turns/index.ts";
import {
  createMetrics,
  errorFacts,
  foreignErrorFacts,
  type Log,
  type Metrics,
  openTracing,
  queryLog,
  traceSteps,
  type Tracing,
} from "../observe/index.ts";
import { prepareMcpPool, serversAsOwnUser } from "../mcp-servers/index.ts";
import { createNotices, createSender, openOutbox, openWebhooks, type Webhook } from "../notify/index.ts";
import { mcpProtocol } from "../protocols/mcp/index.ts";
import { metricsPage, openPages } from "../protocols/pages/index.ts";
import { serviceProtocol } from "../protocols/service/index.ts";
import { createFront, createOriginOf, createReadiness, serveProtocol, startServer } from "../front/index.ts";
import {
  auditRetention,
  createRetention,
  exportFolder,
  judgeTime,
  removeEndedGrants,
  removeOld,
  retentionKinds,
  retentionLocks,
  tenantDeletion,
} from "../retention/index.ts";
import { recordFirstPins } from "./first-pins.ts";
import { createPipeline, createRuns } from "./pipeline.ts";
import { openStores, type Stores } from "./stores.ts";
import { version } from "../base/index.ts";

/** A running host. */
export interface Host {
  url: string;
  stores: Stores;
  operatorToken: OperatorToken;
  /** Finishes running requests, flushes, and closes everything. */
  close(): Promise<void>;
}

/** The options besides the configuration. */
export interface HostOptions extends Runtimes {
  log: Log;
  tools?: readonly ToolHandler[];
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
  const openPool = prepareMcpPool(config.mcp, options.log);
  const tracing = await openTracing({ log: options.log, metrics });
  const database = await openDatabase(config.database, queryLog(metrics));
  try {
    return await wire(config, options, { database, metrics, tracing, openPool, webhooks });
  } catch (error) {
    await database.close();
    throw error;
  }
}

/** What is made before the wiring. */
interface Parts {
  database: Database;
  metrics: Metrics;
  tracing: Tracing | undefined;
  openPool: ReturnType<typeof prepareMcpPool>;
  webhooks: readonly Webhook[];
}

/** The wiring of the whole host, from the database up to the socket. */
async function wire(
  config: Config,
  { log, runtime, runtimeOfVerifiedSenders = runtime, tools = [], isNewOperatorTokenWanted = false }: HostOptions,
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
  const { kernel, ownTools, toolNamespaces } = createHostKernel({
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
  const turnsWith = (plugin: RuntimePlugin): TurnExecutionPort =>
    createTurnExecutor({
      kernel,
      runtime: tracing === undefined ? plugin : traceSteps(plugin),
      journal: stores.turns,
      defaults: config.turns,
      onTurnError: (error, executionId) => log.error({ executionId, ...foreignErrorFacts(error) }, "runtime failed"),
    });
  const turns = verifySenders(stores.messages, {
    claimed: turnsWith(runtime),
    verified: turnsWith(runtimeOfVerifiedSenders),
    onError: (error) => log.error(errorFacts(error), "inbox not read to verify a sender"),
  });
  const onSlotError = (error: unknown): void => log.error(errorFacts(error), "slots for turns not counted");
  const slots = await openTurnSlots(database, turnLimitsOf(config.limits), onSlotError);
  const parts = {
    access,
    slots,
    replay: stores.replay,
    turns: stores.turns,
    isHidden: pool.isHidden,
    metrics,
    tracing,
    log,
    onSlotError,
  };
  const runs = createRuns(createServiceApi({ kernel, turns }), parts);
  const engine = createTurnEngine({
    journal: stores.turns,
    runs,
    async contextNow(context) {
      const enabledToolNamespaces = [...(await stores.settings.enabled(context.namespaceId, context.actor))];
      return { ...context, enabledToolNamespaces, now: clock().toISOString() };
    },
    callOf: (kept) => callOfKeptCaller({ credentials: stores.credentials, isDeleted: stores.tenants.isDeleted }, kept),
    clock,
    onError: (error, executionId) => log.error({ executionId, ...errorFacts(error) }, "turn does not go on yet"),
  });
  const api = createPipeline(runs, { ...parts, engine });
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
  const key = openSigningKey(auditKeyFile(config));
  const checkpoints = createCheckpoints({
    file: checkpointFile(config),
    key,
    audit: stores.audit,
    database,
    log,
    clock,
  });
  const operators = {
    credentials: stores.credentials,
    audit: stores.audit,
    rateLimit,
    clock,
    onAuditError,
  };
  const { auditDays, auditFolder, endedGrantsDays } = config.retention;
  const folder = exportFolder(config.database, auditFolder);
  const trails = { database, audit: stores.audit, checkpoints, key, folder, log };
  const retention = createRetention({
    database,
    tasks: [
      removeEndedGrants(stores.grants, endedGrantsDays),
      ...retentionKinds(config, database, stores.replay).map(removeOld),
      ...(auditDays === undefined ? [] : [auditRetention(trails, auditDays)]),
    ],
    log,
    now: () => judgeTime(database, clock(), log),
    lock: retentionLocks.age,
  });
  const deletion = createRetention({
    database,
    tasks: [tenantDeletion({ ...trails, tenants: stores.tenants })],
    log,
    now: () => Promise.resolve(clock()),
    lock: retentionLocks.tenant,
  });
  const removeDeletedTenants = (): void => void deletion.run();
  const services = {
    stores,
    checkpoints,
    kernel,
    toolNamespaces,
    mcp: pool.reviews,
    clock,
    removeDeletedTenants,
    wakeTurns: engine.nudge,
  };
  const pages = openPages({ checkReady: createReadiness(() => heartbeat(database)), log });
  const originOf = createOriginOf(config);
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
      serveProtocol(adminProtocol(services, operators, [metricsPage(metrics)])),
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
  const listening = await startServer(config, front, (refusal) => {
    metrics.request("other", refusal.status, 0);
    log.info({ route: "other", ...refusal }, "request");
  });
  consoleUrl ??= `${listening.url}/console`;
  // This comes after everything that can fail: a token that is shown only once must not be made and then not shown.
  const operatorToken = await ensureAdminToken(stores, config, { isNewWanted: isNewOperatorTokenWanted }).catch(
    async (error: unknown) => {
      await listening.close();
      throw error;
    },
  );
  retention.start();
  deletion.start();
  void deletion.run();
  checkpoints.start(config.audit.checkpointSeconds);
  engine.start();
  sender.start();
  return {
    url: listening.url,
    stores,
    operatorToken,
    async close() {
      await Promise.all([retention.close(), deletion.close()]);
      await Promise.all([listening.close(), engine.close(), sender.close()]);
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
