import { ConfigError, dataFolder, isPostgres, locationOf, serverOf } from "../shared/index.ts";
import { DamagedDatabaseError, PoolerError } from "../storage/index.ts";
import type { Config } from "./config.ts";
import { environmentName } from "./config-variables.ts";

/** What is known of an error of Node or of a database driver. */
interface CodedError extends Error {
  code?: string;
  syscall?: string;
  path?: string;
}

/** Why the database could not be opened, with the setting to correct. Errors that say so themselves are left as they are. */
export function databaseError(error: unknown, { database }: Pick<Config, "database">): unknown {
  if (!(error instanceof Error) || error instanceof ConfigError) return error;
  if (error instanceof DamagedDatabaseError || error instanceof PoolerError) return error;
  const location = locationOf(database);
  const why = isPostgres(location) ? postgresProblem(error, location) : sqliteProblem(error, location);
  return why === undefined
    ? error
    : new Error(`${why} The setting is ${names("database", "--database")}.`, { cause: error });
}

/** Why the host could not listen, or not write its files, with the setting to correct. */
export function startError(error: unknown, config: Pick<Config, "database" | "listen" | "tls">): unknown {
  if (!(error instanceof Error) || error instanceof ConfigError) return error;
  const { code = "", syscall, path } = error as CodedError;
  const why =
    syscall === "listen" || syscall === "getaddrinfo"
      ? listenProblem(code, config)
      : path !== undefined && path.startsWith(dataFolder(config.database))
        ? `${path} cannot be written (${code}): the host keeps it beside its database. The setting is ${names("database", "--database")}.`
        : undefined;
  if (why !== undefined) return new Error(why, { cause: error });
  const certificate = config.tls && certificateProblem(error, config.tls);
  return certificate === undefined ? error : new ConfigError(certificate, { code: "invalid_config", cause: error });
}

function listenProblem(code: string, { listen: { host, port } }: Pick<Config, "listen">): string | undefined {
  const [hostNames, portNames] = [names("listen.host", "--host"), names("listen.port", "--port")];
  switch (code) {
    case "EADDRINUSE":
      return `${host}:${port} is in use: another process listens there. Stop it, or choose another port with ${portNames}.`;
    case "EACCES":
      return `This user may not listen on port ${port}. Choose one from 1024 on with ${portNames}.`;
    case "EADDRNOTAVAIL":
      return `${host} is not an address of this machine. Choose one with ${hostNames}.`;
    case "ENOTFOUND":
    case "EAI_AGAIN":
      return `${host} is not the name of an address. Choose one with ${hostNames}.`;
    default:
      return undefined;
  }
}

function certificateProblem(error: CodedError, tls: NonNullable<Config["tls"]>): string | undefined {
  const { code = "", path } = error;
  const { certFile, keyFile } = tls;
  const key = (["certFile", "keyFile", "clientCaFile"] as const).find(
    (name) => path !== undefined && tls[name] === path,
  );
  if (key !== undefined) return `${names(`tls.${key}`)}: ${path} ${fileProblems[code] ?? `cannot be read (${code})`}.`;
  if (!/^ERR_(OSSL|SSL|X509|TLS)/.test(code)) return undefined;
  return `${names("tls.certFile")} and ${names("tls.keyFile")}: ${certFile} and ${keyFile} are not a certificate and its private key in PEM (${code}).`;
}

const fileProblems: Readonly<Record<string, string>> = {
  ENOENT: "does not exist",
  EACCES: "cannot be read by this user",
  EISDIR: "is a folder, expected a file",
};

/** By the codes of PostgreSQL and of sockets. */
const postgresProblems: Readonly<Record<string, string>> = {
  ECONNREFUSED: "does not answer: nothing listens there. Start it, or correct the address",
  ECONNRESET: "ended the connection",
  ENOTFOUND: "was not found: there is no machine of this name",
  EAI_AGAIN: "was not found: names of machines cannot be looked up now",
  ETIMEDOUT: "does not answer",
  EHOSTUNREACH: "cannot be reached from here",
  ENETUNREACH: "cannot be reached from here",
  "28P01": "refused the password",
  "28000": "does not let this user in",
  "3D000": "has no such database. Create it",
  "3F000": "has no schema for tables: search_path names none that exists. Create the schema, or correct search_path",
  "42501": "does not let this user make and change tables",
  "53300": "has no connection left for this host",
  "57P03": "is starting or stopping. Try again",
};

function postgresProblem(error: CodedError, location: string): string | undefined {
  const { code = "", message } = error;
  const said = postgresProblems[code];
  const where = `PostgreSQL at ${serverOf(location)}`;
  if (said !== undefined) return `${where} ${said} (${code}).`;
  if (/unsupported startup parameter/.test(message))
    return `${where} is behind a pooler that refuses a parameter in the URL (${message}). Remove it there, or let the pooler ignore it.`;
  if (/timeout|terminated/i.test(message)) return `${where} does not answer in time.`;
  if (/password must be a string/.test(message)) return `${where} wants a password, and none was given.`;
  return undefined;
}

function sqliteProblem(error: CodedError, location: string): string | undefined {
  const inner = error.cause instanceof Error ? (error.cause as CodedError) : error;
  const { code = "", syscall, path = location } = inner;
  if (syscall !== undefined) return `The database ${location} cannot be made: ${path} cannot be written (${code}).`;
  if (code === "SQLITE_BUSY")
    return `The database ${location} is in use by another process. Stop it, or name another file.`;
  if (code === "SQLITE_NOTADB") return `${location} is not an SQLite database. Name another file.`;
  if (/^SQLITE_(CANTOPEN|READONLY|PERM)/.test(code)) return `The database ${location} cannot be written by this user.`;
  return undefined;
}

/** A setting by everything that sets it. */
function names(key: string, flag?: string): string {
  return `${key} (${[...(flag === undefined ? [] : [flag]), environmentName(key)].join(", ")})`;
}
