import { sql } from "kysely";
import { createKernel, type ToolHandler } from "turnpike/kernel";
import { createServiceApi, createServiceHandler, openApiDocument } from "turnpike/http";
import { createTurnExecutor, escalationTool, type RuntimePlugin } from "turnpike/runtime";
import { createJwtVerifier } from "./access/jwt.ts";
import { createAdminHandler } from "./admin/admin-handler.ts";
import { ensureAdminToken } from "./admin/admin-token.ts";
import { createContextResolver } from "./access/resolve-context.ts";
import type { Config } from "./config.ts";
import type { Database } from "./database/database.ts";
import { openDatabase } from "./database/open-database.ts";
import { createRateLimit } from "./limits/rate-limit.ts";
import { limitTurns } from "./limits/turn-limit.ts";
import { errorFacts, foreignErrorFacts, portErrorFacts, type Log } from "./log.ts";
import { protectFromReplay } from "./replay/replay-api.ts";
import { createApp } from "./server/app.ts";
import { renderDocs } from "./server/docs-page.ts";
import { startServer } from "./server/node-server.ts";
import { requestScope } from "./server/request-scope.ts";
import { fileTools } from "./stores/file-store.ts";
import { openStores, type Stores } from "./stores/stores.ts";
import { version } from "./version.ts";

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
  const database = await openDatabase(config.database);
  try {
    return await wire(config, options, database);
  } catch (error) {
    await database.close();
    throw error;
  }
}

/** The wiring of the whole host, from the database up to the socket. */
async function wire(config: Config, { log, runtime, tools = [] }: HostOptions, database: Database): Promise<Host> {
  const stores = openStores(database);
  const kernel = createKernel({
    grants: stores.grants,
    usage: stores.usage,
    namespaceSettings: stores.settings,
    audit: stores.audit,
    tools: [escalationTool(), ...fileTools(stores.files), ...tools],
    onPortError: (error, failure) => log.error({ ...failure, ...portErrorFacts(error, failure) }, "port failed"),
    onAuditError: (error, { type, id }) => log.error({ type, id, ...errorFacts(error) }, "audit event not kept"),
  });
  const turns = createTurnExecutor({
    kernel,
    runtime,
    defaults: config.turns,
    onTurnError: (error, executionId) => log.error({ executionId, ...foreignErrorFacts(error) }, "runtime failed"),
  });
  const api = protectFromReplay(limitTurns(createServiceApi({ kernel, turns }), config.limits.concurrentTurns), {
    store: stores.replay,
    onReplay: () => requestScope()?.headers.set("idempotency-replayed", "true"),
    onStoreError: (error, { kind, id }) => log.error({ kind, id, ...errorFacts(error) }, "result not kept for replay"),
  });
  const service = createServiceHandler({
    api,
    resolveContext: createContextResolver({
      credentials: stores.credentials,
      jwt: config.jwt && createJwtVerifier(config.jwt),
      settings: stores.settings,
      rateLimit: createRateLimit({ perSecond: config.limits.requestsPerSecond, burst: config.limits.burst }),
      clock: () => new Date(),
    }),
    onError: (error, _request, requestId) => log.warn({ requestId, ...errorFacts(error) }, "request refused"),
  });
  const openApi = openApiDocument({
    title: "Turnpike",
    version,
    securitySchemes: { credential: { type: "http", scheme: "bearer" } },
    security: [{ credential: [] }],
  });
  const checkReady = async (): Promise<void> => void (await sql`select 1`.execute(database.db));
  await ensureAdminToken(stores, config);
  const app = createApp({
    service,
    admin: createAdminHandler(
      stores,
      (error) => log.error(errorFacts(error), "operator not served"),
      (facts) => log.warn(facts, "changed by an operator"),
    ),
    checkReady,
    openApi,
    docsPage: renderDocs(openApi),
    log,
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
