import { sql } from "kysely";
import { createKernel, type Kernel, type ToolHandler } from "turnpike/kernel";
import { createServiceApi, createServiceHandler } from "turnpike/http";
import { createTurnExecutor, escalationTool, type RuntimePlugin } from "turnpike/runtime";
import { createJwtVerifier } from "./access/jwt.ts";
import { createAdminHandler } from "./admin/admin-handler.ts";
import { ensureAdminToken } from "./admin/admin-token.ts";
import { createContextResolver } from "./access/resolve-context.ts";
import type { Config } from "./config.ts";
import type { Database } from "./database/database.ts";
import { openDatabase } from "./database/open-database.ts";
import type { FileDesk } from "./files/file-action.ts";
import { fileProvider } from "./files/file-provider.ts";
import { fileTools } from "./files/file-tools.ts";
import { createRateLimit } from "./limits/rate-limit.ts";
import { limitTurns } from "./limits/turn-limit.ts";
import { errorFacts, foreignErrorFacts, portErrorFacts, type Log } from "./log.ts";
import { messageTools } from "./messages/message-tools.ts";
import { messageTransport } from "./messages/message-transport.ts";
import { countingAudit } from "./metrics/counting-audit.ts";
import { measureTurns } from "./metrics/measure-turns.ts";
import { createMetrics, type Metrics } from "./metrics/metrics.ts";
import { queryLog } from "./metrics/query-log.ts";
import { hostOpenApi } from "./openapi.ts";
import { protectFromReplay } from "./replay/replay-api.ts";
import { createApp, knownPaths } from "./server/app.ts";
import { renderDocs } from "./server/docs-page.ts";
import { startServer } from "./server/node-server.ts";
import { requestScope } from "./server/request-scope.ts";
import { openStores, type Stores } from "./stores/stores.ts";

/** A host that runs. */
export interface Host {
  url: string;
  stores: Stores;
  /** Finishes what runs, flushes, and lets go of everything. */
  close(): Promise<void>;
}

/** What the configuration does not say. */
export interface HostOptions {
  log: Log;
  runtime: RuntimePlugin;
  tools?: readonly ToolHandler[];
}

const dayMs = 86_400_000;
const hourMs = 3_600_000;

/** Starts a host; one that cannot start leaves nothing open. */
export async function startHost(config: Config, options: HostOptions): Promise<Host> {
  const metrics = createMetrics({ routes: knownPaths });
  const database = await openDatabase(config.database, queryLog(metrics));
  try {
    return await wire(config, options, database, metrics);
  } catch (error) {
    await database.close();
    throw error;
  }
}

/** The wiring of the whole host, from the database up to the socket. */
async function wire(
  config: Config,
  { log, runtime, tools = [] }: HostOptions,
  database: Database,
  metrics: Metrics,
): Promise<Host> {
  const stores = openStores(database, { questionMs: config.escalations.expireHours * hourMs });
  const desk: FileDesk = { files: stores.files, covers: (act, request) => kernel.covers(act, request) };
  const offered = [escalationTool(), ...fileTools(desk), ...messageTools(stores.messages), ...tools];
  const toolNamespaces = [...new Set(offered.map(({ descriptor }) => descriptor.namespace))].toSorted();
  const kernel: Kernel = createKernel({
    grants: stores.grants,
    usage: stores.usage,
    namespaceSettings: stores.settings,
    escalations: stores.escalations,
    audit: countingAudit(stores.audit, metrics),
    messages: messageTransport(stores.messages),
    tools: offered,
    resources: [fileProvider(desk)],
    onPortError: (error, failure) => log.error({ ...failure, ...portErrorFacts(error, failure) }, "port failed"),
    onAuditError: (error, { type, id }) => log.error({ type, id, ...errorFacts(error) }, "audit event not kept"),
  });
  const turns = createTurnExecutor({
    kernel,
    runtime,
    defaults: config.turns,
    onTurnError: (error, executionId) => log.error({ executionId, ...foreignErrorFacts(error) }, "runtime failed"),
  });
  const measured = measureTurns(createServiceApi({ kernel, turns }), metrics);
  const api = protectFromReplay(limitTurns(measured, config.limits.concurrentTurns), {
    store: stores.replay,
    onReplay: () => requestScope()?.headers.set("idempotency-replayed", "true"),
    onStoreError: (error, { kind, id }) => log.error({ kind, id, ...errorFacts(error) }, "result not kept for replay"),
  });
  const rateLimit = createRateLimit({ perSecond: config.limits.requestsPerSecond, burst: config.limits.burst });
  const service = createServiceHandler({
    api,
    resolveContext: createContextResolver({
      credentials: stores.credentials,
      jwt: config.jwt && createJwtVerifier(config.jwt),
      settings: stores.settings,
      rateLimit,
      clock: () => new Date(),
    }),
    onError: (error, _request, requestId) => log.warn({ requestId, ...errorFacts(error) }, "request refused"),
  });
  const openApi = hostOpenApi();
  watchQueues(metrics, stores);
  const checkReady = async (): Promise<void> => void (await sql`select 1`.execute(database.db));
  await ensureAdminToken(stores, config);
  const app = createApp({
    service,
    admin: createAdminHandler(
      { stores, kernel, toolNamespaces, clock: () => new Date() },
      {
        credentials: stores.credentials,
        audit: stores.audit,
        rateLimit,
        onError: (error) => log.error(errorFacts(error), "operator not served"),
        onAuditError: (error) => log.error(errorFacts(error), "operator's change not kept on the trail"),
        pages: { "/metrics": () => figures(metrics) },
      },
    ),
    checkReady,
    openApi,
    docsPage: renderDocs(openApi),
    log,
    metrics,
  });
  const server = await startServer(config, app);

  const forget = async (): Promise<void> => {
    const before = new Date(Date.now() - config.replay.keepResultsDays * dayMs).toISOString();
    await stores.replay
      .forgetResults(before)
      .catch((error: unknown) => log.error(errorFacts(error), "old results not forgotten"));
  };
  await forget();
  const forgetting = setInterval(() => void forget(), hourMs);
  return {
    url: server.url,
    stores,
    async close() {
      clearInterval(forgetting);
      await server.close();
      await stores.audit.flush();
      await database.close();
    },
  };
}

function watchQueues(metrics: Metrics, { audit, escalations, messages }: Stores): void {
  metrics.watchQueue("audit", () => audit.waiting);
  metrics.watchQueue("escalations", () => escalations.countPending(new Date().toISOString()));
  metrics.watchQueue("messages", () => messages.countUnacknowledged());
}

async function figures(metrics: Metrics): Promise<Response> {
  const headers = { "content-type": metrics.contentType, "cache-control": "no-store" };
  return new Response(await metrics.text(), { headers });
}
