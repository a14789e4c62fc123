import { createPrivateKey, X509Certificate } from "node:crypto";
import { existsSync, readFileSync, statSync } from "node:fs";
import { join } from "node:path";
import type { Kysely } from "kysely";
import { isKeySetUrl, readKeySet } from "../access/index.ts";
import { adminTokenFile, dataFolder, isPostgres, locationOf, programName } from "../shared/index.ts";
import { auditKeyFile } from "../audit/index.ts";
import { loadConfig, type Config } from "./config.ts";
import {
  countLost,
  inspectDatabase,
  PoolerError,
  readNewestTime,
  readOpenGaps,
  type Schema,
} from "../storage/index.ts";
import { operatorsTenant } from "../admin-contract/index.ts";
import { checkPort } from "./doctor-host.ts";
import { checkServers } from "./doctor-mcp.ts";
import { checkSignIn } from "./doctor-sign-in.ts";
import { checkModels } from "./doctor-models.ts";
import { findLost } from "./refuse-older.ts";
import { databaseError } from "./start-error.ts";
import { bad, good, warning, type Finding } from "./finding.ts";
import { type PinnedHashes, readAllHashes } from "../mcp-servers/index.ts";
import { providersOf } from "../people/index.ts";
import { openWebhooks } from "../webhooks/index.ts";

const dayMs = 86_400_000;
/** Certificates are renewed before they have this little left. */
const certificateMs = 14 * dayMs;

/** Checks everything that a host needs to start, and changes nothing. Every check runs, whatever the others find. */
export async function examine(options: Parameters<typeof loadConfig>[0]): Promise<Finding[]> {
  let config: Config;
  const warnings: Finding[] = [];
  try {
    config = loadConfig({ ...options, warn: (says) => warnings.push(warning("configuration", says)) });
  } catch (error) {
    return [bad("configuration", `${messageOf(error)} Correct it and try again.`)];
  }
  const { findings: database, pins } = await checkDatabase(config);
  return [
    good("configuration", "fits the schema"),
    ...warnings,
    ...(await checkPort(config)),
    ...database,
    ...secretFiles(config).map(checkSecretFile),
    ...(config.jwt === undefined ? [] : [checkKeySet(config.jwt.jwks)]),
    ...(await checkSignIn(config.signIn)),
    ...(config.tls === undefined ? [] : checkTls(config.tls)),
    ...(await checkServers(config.mcp ?? { servers: {} }, { env: options.env, pins })),
    ...checkWebhooks(config, options.env),
    ...(config.runtime.kind === "model" ? await checkModels(config.runtime, options.env) : []),
  ];
}

/**
 * Inspects the database without changing it, and compares the clock of its server with this machine's. Returns the pins of MCP
 * servers, too, when they can be read.
 */
async function checkDatabase(config: Config): Promise<{ findings: Finding[]; pins?: PinnedHashes | undefined }> {
  const { database } = config;
  try {
    const found = await inspectDatabase(database, (db) => readForDoctor(config, db));
    if (found.state === "missing") {
      return {
        findings: [good("database", `${locationOf(database)} does not exist yet: serve makes it`)],
        pins: new Map(),
      };
    }
    if (found.state === "in use")
      return { findings: [good("database", `${locationOf(database)} is in use: a host runs on it`)] };
    const { kind, pending, now, risks = [], found: stored } = found;
    const tables = pending.length === 0 ? "its tables are up to date" : `serve would run ${pending.join(", ")}`;
    const clock = now === undefined ? checkNewest(stored?.newestAt) : [checkClock(now)];
    const durability = risks.map((says) => warning("durability", says));
    const answers = [
      good("database", `${kind} answers, and ${tables}`),
      ...checkLosses(stored?.lost ?? 0),
      ...durability,
    ];
    return { findings: [...answers, ...clock], pins: stored?.pins };
  } catch (error) {
    const why = databaseError(error, { database });
    const isExplained = why !== error || error instanceof PoolerError;
    return { findings: [bad("database", isExplained ? messageOf(why) : `${messageOf(error)} Check \`database\`.`)] };
  }
}

/** What the doctor reads of a database: the pins of MCP servers, the newest time that a host wrote, and how much is lost. */
async function readForDoctor(config: Config, db: Kysely<Schema>) {
  const [pins, newestAt] = [await readAllHashes(db), await readNewestTime(db, operatorsTenant)];
  const noticed = (await readOpenGaps(db)).flatMap(({ chains }) => chains);
  const older = isPostgres(config.database) ? [] : await findLost(config, db);
  return { pins, newestAt, lost: countLost([...noticed, ...older]) };
}

/** What was noticed by hosts, or is older than its checkpoints. */
function checkLosses(count: number): Finding[] {
  if (count === 0) return [];
  const next = `${programName()} database accept-loss`;
  return [
    bad(
      "database",
      `lost ${count} rows that were acknowledged. Put the newest one back, or go on without them: ${next}`,
    ),
  ];
}

/** Nothing was written tomorrow: a file without a server tells at least whether this clock went back. */
function checkNewest(newestAt: string | undefined): Finding[] {
  if (newestAt === undefined) return [];
  const ahead = Math.round((Date.parse(newestAt) - Date.now()) / 1000);
  if (ahead <= 2) return [good("clock", "is not behind what hosts wrote")];
  return [
    bad(
      "clock",
      `is ${ahead} s behind what a host wrote (${newestAt}): it was set back, or was ahead then. Grants expire by it: set it right.`,
    ),
  ];
}

function checkClock(now: Date): Finding {
  const apart = Math.round(Math.abs(Date.now() - now.getTime()) / 1000);
  if (apart <= 2) return good("clock", "agrees with the database's");
  return bad("clock", `is ${apart} s away from the database's. Grants expire by the host's clock: synchronize both.`);
}

function secretFiles(config: Config): string[] {
  const { tls } = config;
  const database = locationOf(config.database);
  const own = [
    adminTokenFile(config.database),
    join(dataFolder(config.database), "demo-tokens.json"),
    auditKeyFile(config),
  ];
  const files = isPostgres(database) ? [] : [database, ...[`${database}-wal`].filter((log) => existsSync(log))];
  const ofProviders = providersOf(config.signIn).flatMap(({ clientSecretFile }) => clientSecretFile ?? []);
  return [...files, ...own, ...(tls === undefined ? [] : [tls.keyFile]), ...ofProviders];
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

function checkTls({ certFile, keyFile }: NonNullable<Config["tls"]>): Finding[] {
  const files = [certFile, keyFile].map((path) =>
    existsSync(path)
      ? good("tls", `${path} is there`)
      : bad("tls", `${path} does not exist. Correct tls.certFile and tls.keyFile.`),
  );
  return files.every(({ isOk }) => isOk) ? [...files, checkCertificate(certFile, keyFile)] : files;
}

function checkCertificate(certFile: string, keyFile: string): Finding {
  try {
    const certificate = new X509Certificate(readFileSync(certFile));
    const [from, until] = [certificate.validFrom, certificate.validTo].map((text) => new Date(text).getTime());
    if (!certificate.checkPrivateKey(createPrivateKey(readFileSync(keyFile))))
      return bad("tls", `${keyFile} is not the key of ${certFile}. Correct tls.certFile and tls.keyFile.`);
    const left = (until ?? 0) - Date.now();
    if (left <= 0 || (from ?? 0) > Date.now())
      return bad(
        "tls",
        `${certFile} is valid from ${certificate.validFrom} until ${certificate.validTo}. Renew it, or set the clock right.`,
      );
    const says = `${certFile} is valid until ${certificate.validTo}`;
    return left > certificateMs ? good("tls", says) : warning("tls", `${says}. Renew it.`);
  } catch (error) {
    return bad("tls", `${certFile} and ${keyFile} cannot be read as PEM (${messageOf(error)}).`);
  }
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

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
