import { programName } from "../shared/index.ts";
import { networkInterfaces } from "node:os";
import type { Command } from "commander";
import {
  type ConfigFile,
  ConfigError,
  inFile,
  isLoopback,
  kindOf,
  nearestName,
  readConfigFile,
} from "../shared/index.ts";
import { giveTenant } from "./context-tenant.ts";
import { type Context, contextFile, readContexts } from "./contexts.ts";
import { readUrl } from "./flags.ts";

/** Where a host listens unless it is told otherwise. */
export const defaultUrl = "http://127.0.0.1:8787";
export const defaultDatabase = ".turnpike/turnpike.db";

/** Where a command talks to, and where that came from. */
export interface HostPlace {
  url: string;
  /** The flag, variable or file that named the host. */
  urlFrom: string;
  database: string;
  isUrlGiven: boolean;
  isDatabaseGiven: boolean;
  /** What is used of the contexts of `turnpike login`; absent when the host was named otherwise. */
  context?: UsedContext | undefined;
}

/** A context by its name. INVARIANT: its token goes to its own host, and nothing else of this machine's does. */
export interface UsedContext extends Context {
  name: string;
  /** Whether it was named with `--context`. */
  isNamed: boolean;
}

/** What the command line says about the host. */
interface GivenPlace {
  url?: string | undefined;
  database?: string | undefined;
  config?: string | undefined;
  context?: string | undefined;
}

/** Puts the place of the host among the flags of a command that talks to one, before its action. */
export function locateHost(command: Command, env: NodeJS.ProcessEnv): HostPlace | undefined {
  if (!command.options.some(({ long }) => long === "--url")) return undefined;
  const given = (name: string): string | undefined =>
    command.getOptionValueSource(name) === "cli" ? (command.getOptionValue(name) as string) : undefined;
  const [url, database, config, context] = ["url", "database", "config", "context"].map(given);
  const place = findHost({ url, database, config, context }, env);
  command.setOptionValueWithSource("url", place.url, "implied");
  command.setOptionValueWithSource("database", place.database, "implied");
  command.setOptionValue("place", place);
  giveTenant(command, place.context?.tenant);
  return place;
}

/**
 * The host that a command talks to: what the flags name, then the environment, then the current context, then where a host would
 * listen that is served with the configuration file of this place. A context is used whole or not at all: a user who names a host
 * or a database themselves uses nothing of it.
 */
export function findHost(given: GivenPlace, env: NodeJS.ProcessEnv): HostPlace {
  const context = contextFor(given, env);
  if (context === undefined) return findWithoutContext(given, env);
  const { url, database = "", name } = context;
  return { url, urlFrom: `context ${name}`, database, isUrlGiven: false, isDatabaseGiven: false, context };
}

/** The context that counts, if one does. */
function contextFor({ context: named, ...flags }: GivenPlace, env: NodeJS.ProcessEnv): UsedContext | undefined {
  const flag = (["url", "database", "config"] as const).find((name) => flags[name] !== undefined);
  if (named !== undefined && flag !== undefined)
    throw new ConfigError(`--context ${named}: expected it or --${flag}, not both.`);
  const isElsewhere = flag !== undefined || placeVariables.some((name) => (env[name] ?? "") !== "");
  if (named === undefined && isElsewhere) return undefined;
  const { current, contexts } = readContexts(contextFile(env));
  const name = named ?? current;
  if (name === undefined) return undefined;
  const found = Object.hasOwn(contexts, name) ? contexts[name] : undefined;
  if (found === undefined) throw unknownContext(name, Object.keys(contexts));
  return { ...found, name, isNamed: named !== undefined };
}

/** There is no context of this name. */
export function unknownContext(name: string, known: readonly string[]): ConfigError {
  const near = nearestName(name, known);
  const others =
    known.length === 0 ? `There is none: sign in with ${programName()} login.` : `There are ${known.join(", ")}.`;
  return new ConfigError(`There is no context ${name}. ${near === undefined ? others : `Did you mean ${near}?`}`);
}

function findWithoutContext({ url, database, config }: GivenPlace, env: NodeJS.ProcessEnv): HostPlace {
  const variable = env["TURNPIKE_URL"] || undefined;
  const isFileNeeded = config !== undefined || database === undefined || (url ?? variable) === undefined;
  const settings = settingsOf(isFileNeeded ? readConfigFile(config) : undefined, env);
  const named =
    url !== undefined
      ? { url, urlFrom: "--url" }
      : variable === undefined
        ? listenedAt(settings)
        : { url: readUrl("TURNPIKE_URL", variable), urlFrom: "TURNPIKE_URL" };
  const configured = [settings.read("database.url").value, settings.read("database").value];
  return {
    ...named,
    database: database ?? configured.find(isName) ?? defaultDatabase,
    isUrlGiven: url !== undefined,
    isDatabaseGiven: database !== undefined,
  };
}

function isName(value: unknown): value is string {
  return typeof value === "string" && value !== "";
}

interface Setting {
  value: unknown;
  /** What to call it in a message. */
  name: string;
  from: string;
}

interface Settings {
  read(key: keyof typeof variables): Setting;
}

/** The settings that say where a host is, and their variables. */
const variables = {
  "listen.host": "TURNPIKE_LISTEN_HOST",
  "listen.port": "TURNPIKE_LISTEN_PORT",
  "tls.certFile": "TURNPIKE_TLS_CERT_FILE",
  database: "TURNPIKE_DATABASE",
  "database.url": "TURNPIKE_DATABASE_URL",
};

/** The variables that name a host or its database. */
const placeVariables = ["TURNPIKE_URL", ...Object.values(variables)];

/** Few settings are read here, and one by one: the schema of all of them would take longer to load than most commands take. */
function settingsOf(file: ConfigFile | undefined, env: NodeJS.ProcessEnv): Settings {
  return {
    read(key) {
      const variable = variables[key];
      const said = env[variable];
      // What looks like an address there is a service link of Kubernetes.
      if (said !== undefined && !(key === "listen.port" && said.includes("://"))) {
        // Digits alone: what else Number takes for a port, such as 1e3, the host itself refuses.
        const value = key === "listen.port" && /^\d+$/.test(said) ? Number(said) : said;
        return { value, name: variable, from: variable };
      }
      const path = key.split(".");
      let value: unknown = file?.settings;
      for (const name of path) value = (value as Record<string, unknown> | undefined | null)?.[name];
      if (file === undefined || value === undefined) return { value: undefined, name: key, from: "" };
      return { value, name: `${inFile(file.path, file.places.placeOf(path))}: ${key}`, from: file.path };
    },
  };
}

function listenedAt({ read }: Settings): { url: string; urlFrom: string } {
  const [host, port, cert] = [read("listen.host"), read("listen.port"), read("tls.certFile")];
  const from = [host, port, cert].flatMap((setting) => (setting.value === undefined ? [] : setting.from));
  if (from.length === 0) return { url: defaultUrl, urlFrom: "the default" };
  const address = addressOf(host);
  const authority = address.includes(":") ? `[${address}]` : address;
  return {
    url: `${cert.value === undefined ? "http" : "https"}://${authority}:${portOf(port)}`,
    urlFrom: [...new Set(from)].join(", "),
  };
}

function portOf({ value = 8787, name }: Setting): number {
  if (value === 0) throw new ConfigError(`${name} is 0, which is any free port. ${sayWhere}`);
  if (typeof value === "number" && Number.isInteger(value) && value > 0 && value < 65_536) return value;
  throw new ConfigError(`${name}: found ${kindOf(value)}, expected a whole number from 1 to 65535. ${sayWhere}`);
}

/**
 * The address to reach a listener on this machine by. INVARIANT: a configuration file that happens to lie in the working
 * directory never sends a token beyond this machine; only a flag or a variable does.
 */
function addressOf({ value = "127.0.0.1", name }: Setting): string {
  if (typeof value !== "string") throw new ConfigError(`${name}: found ${kindOf(value)}, expected a text. ${sayWhere}`);
  const address = value.replaceAll(/^\[|\]$/g, "");
  if (address === "0.0.0.0") return "127.0.0.1";
  if (address === "::") return "::1";
  const own = Object.values(networkInterfaces()).flatMap((all) => (all ?? []).map((one) => one.address));
  if (isLoopback(address) || own.includes(address)) return address;
  throw new ConfigError(`${name} is not an address of this machine. ${sayWhere}`);
}

const sayWhere = "Name the host with --url or TURNPIKE_URL.";
