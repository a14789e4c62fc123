import { networkInterfaces } from "node:os";
import type { Command } from "commander";
import { type ConfigFile, ConfigError, inFile, isLoopback, kindOf, readConfigFile } from "../base/index.ts";
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
}

/** What the command line says about the host. */
interface GivenPlace {
  url?: string | undefined;
  database?: string | undefined;
  config?: string | undefined;
}

/** Puts the place of the host among the flags of a command that talks to one, before its action. */
export function locateHost(command: Command, env: NodeJS.ProcessEnv): HostPlace | undefined {
  if (!command.options.some(({ long }) => long === "--url")) return undefined;
  const given = (name: string): string | undefined =>
    command.getOptionValueSource(name) === "cli" ? (command.getOptionValue(name) as string) : undefined;
  const place = findHost({ url: given("url"), database: given("database"), config: given("config") }, env);
  command.setOptionValueWithSource("url", place.url, "implied");
  command.setOptionValueWithSource("database", place.database, "implied");
  command.setOptionValue("place", place);
  return place;
}

/**
 * The host that a command talks to: what the flags name, then `TURNPIKE_URL`, then where a host would listen that is served
 * with the configuration file of this place.
 */
export function findHost({ url, database, config }: GivenPlace, env: NodeJS.ProcessEnv): HostPlace {
  const variable = env["TURNPIKE_URL"] || undefined;
  const isFileNeeded = config !== undefined || database === undefined || (url ?? variable) === undefined;
  const settings = settingsOf(isFileNeeded ? readConfigFile(config) : undefined, env);
  const named =
    url !== undefined
      ? { url, urlFrom: "--url" }
      : variable === undefined
        ? listenedAt(settings)
        : { url: readUrl("TURNPIKE_URL", variable), urlFrom: "TURNPIKE_URL" };
  const kept = settings.read("database").value;
  return {
    ...named,
    database: database ?? (typeof kept === "string" && kept !== "" ? kept : defaultDatabase),
    isUrlGiven: url !== undefined,
    isDatabaseGiven: database !== undefined,
  };
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
};

/** Few settings are read here, and one by one: the schema of all of them would take longer to load than most commands take. */
function settingsOf(file: ConfigFile | undefined, env: NodeJS.ProcessEnv): Settings {
  return {
    read(key) {
      const variable = variables[key];
      const said = env[variable];
      // What looks like an address there is a service link of Kubernetes.
      if (said !== undefined && !(key === "listen.port" && said.includes("://"))) {
        return { value: key === "listen.port" ? Number(said) : said, name: variable, from: variable };
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
