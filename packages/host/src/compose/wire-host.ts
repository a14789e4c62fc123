import type { ServiceApi } from "turnpike/http";
import type { ToolHandler } from "turnpike/kernel";
import {
  type BearerContexts,
  type ContextResolver,
  createAccessGuard,
  createBearerContexts,
  createContextResolver,
  createJwtVerifier,
  createRateLimit,
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
import { type Database, DatabaseWentBackError, listDurabilityRisks, watchWrites } from "../storage/index.ts";
import { createHeldCalls } from "../escalations/index.ts";
import { createHostKernel, type HostKernelOptions } from "./kernel.ts";
import { outdatedReason, type Runtimes, type TurnEngine } from "../turns/index.ts";
import { errorFacts, type Log, type Metrics, type Tracing } from "../telemetry/index.ts";
import { type loadMcpPool, serversAsOwnUser } from "../mcp-servers/index.ts";
import { createNotices, createSender, escalationLink, openOutbox, type Webhook } from "../webhooks/index.ts";
import { consoleProtocol } from "../protocols/console/index.ts";
import { hooksProtocol } from "../protocols/hooks/index.ts";
import { createListening, mcpProtocol } from "../protocols/mcp/index.ts";
import { openPages, whoamiProtocol } from "../protocols/pages/index.ts";
import { serviceProtocol } from "../protocols/service/index.ts";
import {
  createFront,
  createOriginOf,
  createReadiness,
  createStreamSlots,
  type Front,
  type Protocol,
  serveProtocol,
  UnreadyError,
} from "../front/index.ts";
import { providersOf } from "../people/index.ts";
import { followHistory } from "./database-history.ts";
import { recordPins } from "./record-pins.ts";
import { openAdminApi } from "./admin-api.ts";
import { createOwnOriginOf, openOAuth, openSignIn } from "./sign-in.ts";
import { openRetention } from "./retention.ts";
import { openStores, type Stores } from "./stores.ts";
import { attemptEffects } from "./pipeline.ts";
import { openTurns } from "./turns.ts";
import { version } from "../shared/index.ts";

/** How often it is written when credentials were last used. */
const usesMs = 60_000;

/** A host without a socket. */
export interface WiredHost {
  /** Answers requests, wherever they come from. */
  front: Front;
  stores: Stores;
  engine: TurnEngine;
  /** The service for callers within this process, and how they are admitted. */
  service: { api: ServiceApi; resolveContext: ContextResolver; contextOf: BearerContexts; clock(): Date };
  /** Begins with what is done in the background. Everything that callers need is there from now on: the host is ready. */
  start(): void;
  /** Finishes running requests, flushes, and closes everything. */
  close(stopListening: () => Promise<void>): Promise<void>;
}

/** What a host is wired with besides its configuration. */
export interface WireOptions extends Runtimes {
  log: Log;
  tools?: readonly ToolHandler[];
  /** Makes the tools that every host offers; those of files and messages unless given. */
  makeOwnTools?: HostKernelOptions["makeOwnTools"];
  /** Whether the host says of itself that it is a demo. */
  isDemo?: boolean;
  /** The identity provider of a demo, which runs inside of its host. */
  ownProvider?: { fetch: typeof fetch; protocol: Protocol<undefined> } | undefined;
  /** The time of day by which it decides; that of the machine unless given. */
  clock?: () => Date;
}

/** What is made before the wiring. */
export interface HostParts {
  database: Database;
  metrics: Metrics;
  tracing: Tracing | undefined;
  openPool: Awaited<ReturnType<typeof loadMcpPool>>;
  webhooks: readonly Webhook[];
  /** Where the console is. Nothing is told of before that is known. */
  consoleUrl(): string;
}

/** For anyone who asks at `/ready`. */
const lossReason =
  "The database went back: it lost rows that were acknowledged. Calls and turns are refused until an operator accepts that.";
const absentReason = "Other hosts cannot see this one, and take over what it has under way.";
const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

/** The wiring of the whole host, from the database up to the front. */
export async function wireHost(
  config: Config,
  {
    log,
    runtime,
    runtimeOfVerifiedSenders = runtime,
    tools = [],
    makeOwnTools,
    isDemo = false,
    ownProvider,
    clock = () => new Date(),
  }: WireOptions,
  { database, metrics, tracing, openPool, webhooks, consoleUrl }: HostParts,
): Promise<WiredHost> {
  const { openEscalations, openTurns: maxOpenTurns, openTurnBytes, unreadMessages } = config.limits;
  const { expireHours, permitMinutes, maxPermitMinutes, refusalMinutes, approvals, answeredBy } = config.escalations;
  const notices = createNotices({
    webhooks,
    consoleUrl,
    clock,
    onDropped(webhook, isFirst) {
      metrics.webhookMessages("dropped");
      if (isFirst)
        log.error({ webhook: webhook.shown }, "could not queue denial for webhook, will drop denials until fewer wait");
    },
  });
  const writes = watchWrites(database);
  const stores = openStores(database, {
    transact: writes.transact,
    escalationMs: expireHours * hourMs,
    permitMs: permitMinutes * minuteMs,
    maxPermitMs: maxPermitMinutes * minuteMs,
    refusalMs: refusalMinutes * minuteMs,
    approvals,
    answeredBy,
    openEscalations,
    openTurns: maxOpenTurns,
    openTurnBytes,
    unreadMessages,
    oauth: config.oauth,
    ...notices,
    webhooks,
  });
  const onAuditError = (error: unknown): void =>
    log.error(errorFacts(error), "could not record outcome of operator's change in the audit log, will not retry");
  const pool = openPool(recordPins({ stores, log, onAuditError }));
  const access = createAccessGuard({ settings: stores.settings, clock });
  const { kernel, readOnlyKernel, ownTools, toolNamespaces, toolNamespacesOf, resourceActions } = createHostKernel({
    stores,
    access,
    metrics,
    log,
    tools,
    makeOwnTools,
    providers: pool.providers,
    resources: pool.resources,
    isTraced: tracing !== undefined,
    limits: config.tools,
  });
  const streamSlots = createStreamSlots(config.limits.sockets);
  const held = createHeldCalls({
    most: config.limits.held,
    takeSocket: () => streamSlots.takeAny(),
    findPending: (escalations) => stores.escalations.findPending(escalations, clock().toISOString()),
    onError: (error) => log.error(errorFacts(error), "could not read answers for calls that are held, will retry"),
  });
  const { api, engine, outdated } = await openTurns(config, {
    runtime,
    runtimeOfVerifiedSenders,
    database,
    stores,
    kernel,
    access,
    held,
    isHidden: pool.isHidden,
    unavailable: pool.unavailable,
    urlOf: (namespaceId, id) => escalationLink(consoleUrl(), namespaceId, id),
    metrics,
    tracing,
    log,
    clock,
  });
  const rateLimit = createRateLimit({ perSecond: config.limits.requestsPerSecond, burst: config.limits.burst });
  const onKeySetError = (error: unknown): void => log.error(errorFacts(error), "could not read key set, will retry");
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
  const losses = await followHistory({ database, stores, checkpoints, log, onAuditError });
  const originOf = createOriginOf(config);
  const signInConfigs = providersOf(config.signIn);
  const isConnecting = config.oauth.enabled && signInConfigs.some(({ people }) => people !== undefined);
  const ownOrigin = createOwnOriginOf(originOf, config.publicUrl);
  const callerStreams = { slots: streamSlots, perCredential: config.limits.callerStreams };
  const retention = openRetention(config, { database, stores, checkpoints, key, log, clock });
  const adminApi = openAdminApi({
    stores,
    checkpoints,
    database,
    kernel,
    readOnlyKernel,
    toolNamespaces: (tenant) => toolNamespaces.filter((name) => pool.mayServe(name, tenant)),
    async toolNames(tenant) {
      const served = pool.providers.filter(({ id }) => pool.mayServe(id, tenant));
      const accepted = served.map(async ({ id }) => {
        const hashes = await stores.mcpPins.hashes(id.replace(/^mcp\./, ""));
        return [...hashes.keys()].map((tool) => `${id}.${tool}`);
      });
      return [...ownTools, ...(await Promise.all(accepted)).flat()];
    },
    resourceActions: (tenant) => resourceActions.filter(({ namespace }) => pool.mayServe(namespace, tenant)),
    mcp: pool.reviews,
    withdrawnTools: pool.withdrawn,
    isDemo,
    clock,
    removeDeletedTenants: retention.removeDeletedTenants,
    settleLosses: losses.settle,
    wakeTurns() {
      engine.wake();
      held.wake();
    },
    originOf,
    rateLimit,
    isTokenSignInOff: signInConfigs.some(({ operatorsOnly }) => operatorsOnly),
    onAuditError,
    api,
    maxStreams: config.limits.eventStreams,
    streamSlots,
    metrics,
    log,
  });
  let isStarted = false;
  let writingUses: NodeJS.Timeout | undefined;
  const writeUses = (): Promise<void> =>
    stores.credentials
      .writeUses()
      .catch((error: unknown) => log.warn(errorFacts(error), "could not store last uses of credentials, will retry"));
  const takesWrites = createReadiness(writes.probe);
  const checkReady = async (): Promise<void> => {
    if (!isStarted) throw new UnreadyError("The host is still starting.");
    if (database.isTooOld()) throw new UnreadyError(outdatedReason);
    await takesWrites();
    await stores.losses.checkWhole().catch((cause: unknown) => {
      throw cause instanceof DatabaseWentBackError ? new UnreadyError(lossReason, { cause }) : cause;
    });
    // The last: while the database is away or went back, that is why.
    if (!database.isPresent()) throw new UnreadyError(absentReason);
  };
  const pages = openPages({ checkReady, log });
  const authzen = {
    kernel,
    access: callers,
    isLivingTenant: async (tenant: string) =>
      (await stores.audit.isKnown(tenant)) && !(await stores.tenants.isDeleted(tenant)),
    originOf,
    clock,
  };
  const listening = createListening(callerStreams);
  // A further protocol is a room and a line here. The service is the last, because it owns every other path.
  const front = createFront({
    protocols: [
      adminApi.protocol,
      consoleProtocol(),
      ...openSignIn(config, {
        stores,
        operators: adminApi.operators,
        ownOrigin,
        wakeTurns: engine.wake,
        log,
        fetch: ownProvider?.fetch,
      }),
      openOAuth(config, isConnecting, { stores, operators: adminApi.operators, ownOrigin, toolNamespacesOf }),
      ...(ownProvider === undefined ? [] : [serveProtocol(ownProvider.protocol)]),
      serveProtocol(authzenProtocol(authzen)),
      serveProtocol(whoamiProtocol(callers)),
      serveProtocol(hooksProtocol({ api, resolveContext, clock })),
      serveProtocol(
        mcpProtocol({
          // Not whole requests: a stream may be open, and a client may cancel its call by another request.
          api: attemptEffects(api, stores.attempt),
          resolveContext: (headers, record) => stores.attempt(() => resolveContext(headers, record)),
          known: { tools: ownTools, namespaces: pool.providers.flatMap(({ namespaces }) => namespaces) },
          pool,
          listening,
          about: { originOf: isConnecting ? ownOrigin : originOf, isIssuer: isConnecting, issuer: config.jwt?.issuer },
          version,
        }),
      ),
      serveProtocol(
        serviceProtocol(api, resolveContext, { pages, journal: stores.turns, attempt: stores.attempt }),
        callerStreams,
      ),
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
    isTooOld: database.isTooOld,
    clock,
    log,
    metrics,
  });
  watchQueues(metrics, stores, checkpoints, clock);
  if (database.kind === "postgres")
    for (const says of await listDurabilityRisks(database.reporting)) log.warn({}, says);
  if (webhooks.length > 0) metrics.watchQueue("webhooks", outbox.count);
  for (const { server, says } of serversAsOwnUser(config.mcp ?? { servers: {} })) log.warn({ server }, says);
  return {
    front,
    stores,
    engine,
    service: { api, resolveContext, contextOf: createBearerContexts({ settings: stores.settings }), clock },
    start() {
      isStarted = true;
      pool.start();
      retention.start();
      checkpoints.start(config.audit.checkpointSeconds);
      losses.start(config.audit.checkpointSeconds);
      engine.start();
      outdated.start();
      sender.start();
      writingUses = setInterval(writeUses, usesMs).unref();
    },
    async close(stopListening) {
      clearInterval(writingUses);
      outdated.close();
      // At once: a stream that is open would hold up everything else.
      const isQuiet = adminApi.close();
      held.close();
      listening.close();
      await retention.close();
      await Promise.all([stopListening(), engine.close(), sender.close(), isQuiet]);
      await pool.close();
      await writeUses();
      await stores.audit.flush();
      await Promise.all([stores.replay.close(), stores.acts.close(), stores.turns.close()]);
      await losses.close();
      await checkpoints.close();
      await database.close();
      await tracing?.close();
    },
  };
}

function watchQueues(
  metrics: Metrics,
  { audit, escalations, messages }: Stores,
  checkpoints: Checkpoints,
  clock: () => Date,
): void {
  metrics.watchQueue("audit", () => audit.waiting);
  metrics.watchQueue("checkpoints", () => checkpoints.waiting);
  metrics.watchQueue("escalations", () => escalations.countPending(clock().toISOString()));
  metrics.watchQueue("messages", () => messages.countUnacknowledged());
}
