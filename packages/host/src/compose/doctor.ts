import { existsSync, statSync } from "node:fs";
import { get, type IncomingMessage } from "node:http";
import { get as getSecurely } from "node:https";
import { createServer } from "node:net";
import { join } from "node:path";
import { json } from "node:stream/consumers";
import { isKeySetUrl, readKeySet } from "../access/index.ts";
import { adminTokenFile, dataFolder, isPostgres } from "../base/index.ts";
import { auditKeyFile } from "../audit/index.ts";
import { loadConfig, type Config } from "./config.ts";
import { inspectDatabase } from "../storage/index.ts";
import { checkServers } from "./doctor-mcp.ts";
import { bad, good, type Finding } from "./finding.ts";
import { type PinnedHashes, readAllHashes } from "../mcp-servers/index.ts";
import { openWebhooks } from "../notify/index.ts";
import { type ModelConfig, modelsIn, openModel } from "../turns/index.ts";

/** How long to wait for a running host to answer. */
const healthMs = 2_000;

/** Checks everything that a host needs to start, and changes nothing. Every check runs, whatever the others find. */
export async function examine(options: Parameters<typeof loadConfig>[0]): Promise<Finding[]> {
  let config: Config;
  try {
    config = loadConfig(options);
  } catch (error) {
    return [bad("configuration", `${messageOf(error)} Correct it and try again.`)];
  }
  const { findings: database, pins } = await checkDatabase(config);
  return [
    good("configuration", "fits the schema"),
    await checkPort(config),
    ...database,
    ...secretFiles(config).map(checkSecretFile),
    ...(config.jwt === undefined ? [] : [checkKeySet(config.jwt.jwks)]),
    ...(config.tls === undefined ? [] : [config.tls.certFile, config.tls.keyFile].map(checkTlsFile)),
    ...(await checkServers(config.mcp ?? { servers: {} }, { env: options.env, pins })),
    ...checkWebhooks(config, options.env),
    ...(config.runtime.kind === "model" ? await checkModels(config.runtime, options.env) : []),
  ];
}

async function checkPort(config: Config): Promise<Finding> {
  const { listen } = config;
  const probe = createServer();
  try {
    await new Promise<void>((resolve, reject) => probe.once("error", reject).listen(listen.port, listen.host, resolve));
    return good("port", `${listen.host}:${listen.port} is free`);
  } catch (error) {
    if (await isHostAt(config)) return good("port", `${listen.host}:${listen.port} is taken: a host answers there`);
    return bad(
      "port",
      `${listen.host}:${listen.port} cannot be used (${messageOf(error)}). Stop what listens there, or set listen.port.`,
    );
  } finally {
    probe.close();
  }
}

/** Whether the listener on the port answers `/health` as a host does. Its certificate is not checked. */
async function isHostAt({ listen: { host, port }, tls }: Config): Promise<boolean> {
  const where = { host, port, path: "/health", signal: AbortSignal.timeout(healthMs), agent: false };
  try {
    const answer = await new Promise<IncomingMessage>((resolve, reject) => {
      const request =
        tls === undefined ? get(where, resolve) : getSecurely({ ...where, rejectUnauthorized: false }, resolve);
      request.once("error", reject);
    });
    const health: unknown = await json(answer);
    return typeof health === "object" && health !== null && "status" in health && "protocolVersion" in health;
  } catch {
    return false;
  }
}

/**
 * Inspects the database without changing it, and compares the clock of its server with this machine's. Returns the pins of MCP
 * servers, too, when they can be read.
 */
async function checkDatabase({ database }: Config): Promise<{ findings: Finding[]; pins?: PinnedHashes | undefined }> {
  try {
    const found = await inspectDatabase(database, readAllHashes);
    if (found.state === "missing") {
      return { findings: [good("database", `${database} does not exist yet: serve makes it`)], pins: new Map() };
    }
    if (found.state === "in use") return { findings: [good("database", `${database} is in use: a host runs on it`)] };
    const { kind, pending, now, found: pins } = found;
    const tables = pending.length === 0 ? "its tables are up to date" : `serve would run ${pending.join(", ")}`;
    const clock = now === undefined ? [] : [checkClock(now)];
    return { findings: [good("database", `${kind} answers, and ${tables}`), ...clock], pins };
  } catch (error) {
    return { findings: [bad("database", `${messageOf(error)} Check \`database\`.`)] };
  }
}

function checkClock(now: Date): Finding {
  const apart = Math.round(Math.abs(Date.now() - now.getTime()) / 1000);
  if (apart <= 2) return good("clock", "agrees with the database's");
  return bad("clock", `is ${apart} s away from the database's. Grants expire by the host's clock: synchronize both.`);
}

function secretFiles(config: Config): string[] {
  const { database, tls } = config;
  const own = [
    adminTokenFile(config.database),
    join(dataFolder(config.database), "demo-tokens.json"),
    auditKeyFile(config),
  ];
  return [...(isPostgres(database) ? [] : [database]), ...own, ...(tls === undefined ? [] : [tls.keyFile])];
}

function checkSecretFile(path: string): Finding {
  const mode = statSync(path, { throwIfNoEntry: false })?.mode;
  if (mode === undefined) return good("secrets", `${path} does not exist yet`);
  if ((mode & 0o077) === 0) return good("secrets", `${path} is readable by its owner alone`);
  return bad("secrets", `${path} is readable by others. Run: chmod 600 ${path}`);
}

function checkKeySet(jwks: string): Finding {
  if (isKeySetUrl(jwks)) return good("jwt", `${jwks} is fetched when the first token comes`);
  try {
    readKeySet(jwks);
    return good("jwt", `${jwks} is a key set`);
  } catch (error) {
    return bad("jwt", `${messageOf(error)} Correct jwt.jwks.`);
  }
}

function checkTlsFile(path: string): Finding {
  if (existsSync(path)) return good("tls", `${path} is there`);
  return bad("tls", `${path} does not exist. Correct tls.certFile and tls.keyFile.`);
}

/** Checks that the secrets are set. Nothing is sent. */
function checkWebhooks({ notify }: Config, env: NodeJS.ProcessEnv): Finding[] {
  if (notify.webhooks.length === 0) return [];
  try {
    openWebhooks(notify, env);
    return [good("webhooks", `secrets of ${notify.webhooks.length} are set`)];
  } catch (error) {
    return [bad("webhooks", messageOf(error))];
  }
}

/** Checks the key and the package of each model. No key is tried, because that would cost money. */
function checkModels(config: ModelConfig, env: NodeJS.ProcessEnv): Promise<Finding[]> {
  const checks = modelsIn(config).map(async (model) => {
    const { apiKeyEnv } = model.settings;
    try {
      await openModel(model, env);
      return good("runtime", apiKeyEnv === undefined ? "uses a model without a key" : `${apiKeyEnv} is set`);
    } catch (error) {
      return bad("runtime", messageOf(error));
    }
  });
  return Promise.all(checks);
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
