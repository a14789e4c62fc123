import { existsSync, readFileSync } from "node:fs";
import { describeExpectation, TurnOptionsSchema } from "turnpike/contracts";
import { z } from "zod";
import { JwtConfigSchema } from "../access/index.ts";
import { ConfigError, isLoopback, positive } from "../base/index.ts";
import { AuditSettingsSchema } from "../audit/index.ts";
import { ListenSchema, PublicUrlSchema, TlsSchema, wireLimits } from "../front/index.ts";
import { NotifySettingsSchema, withoutNotifySecrets } from "../notify/index.ts";
import { LogSettingsSchema } from "../observe/index.ts";
import { RetentionSettingsSchema } from "../retention/index.ts";
import { RuntimeConfigSchema, turnLimits } from "../turns/index.ts";
import { McpConfigSchema, withoutMcpSecrets } from "../mcp-servers/index.ts";
import { nearestName } from "./nearest-name.ts";

const ConfigSchema = z.strictObject({
  listen: ListenSchema.prefault({}),
  tls: TlsSchema.optional(),
  publicUrl: PublicUrlSchema.optional(),
  database: z.string().min(1).default(".turnpike/turnpike.db").describe("postgres:// URL, or path of an SQLite file"),
  admin: z
    .strictObject({ tokenFile: z.boolean().default(true).describe("keep the operator's token in a file") })
    .prefault({}),
  jwt: JwtConfigSchema.optional(),
  mcp: McpConfigSchema.optional(),
  limits: z
    .strictObject({
      ...wireLimits,
      ...turnLimits,
      requestsPerSecond: positive.default(50),
      burst: positive.default(100),
      openEscalations: positive.default(100),
      unreadMessages: positive.default(10_000),
    })
    .prefault({}),
  turns: TurnOptionsSchema.prefault({}),
  tools: z
    .strictObject({
      // Timers cannot wait any longer than this.
      timeoutMs: positive.max(2_147_483_647).default(120_000),
      outputBytes: positive.default(1_048_576),
    })
    .prefault({}),
  runtime: RuntimeConfigSchema.default({ kind: "none" }),
  replay: z.strictObject({ keepResultsDays: positive.default(7), keepReadsHours: positive.default(1) }).prefault({}),
  retention: RetentionSettingsSchema.prefault({}),
  escalations: z
    .strictObject({
      expireHours: positive.default(24),
      permitMinutes: positive.default(15).describe("minutes for which a yes to an act can be used"),
      refusalMinutes: positive.default(60).describe("minutes for which a no to an act counts"),
      approvals: positive.max(2).default(1).describe("people who have to approve an escalation"),
    })
    .prefault({}),
  notify: NotifySettingsSchema.prefault({}),
  audit: AuditSettingsSchema.prefault({}),
  log: LogSettingsSchema.prefault({}),
});

/** Everything that can be configured. */
export type Config = z.infer<typeof ConfigSchema>;

/** A setting by its dotted key, such as `listen.port`. */
export type Settings = Readonly<Record<string, string>>;

/** Where a configuration comes from. */
export interface ConfigSources {
  file?: string | undefined;
  env: NodeJS.ProcessEnv;
  flags: Settings;
}

/** The configuration from a file, then the environment, then flags; the later wins. Throws `ConfigError`. */
export function loadConfig(options: ConfigSources): Config {
  const config = readFile(options.file);
  for (const [key, text] of Object.entries({ ...settingsIn(options.env), ...options.flags })) assign(config, key, text);
  const parsed = ConfigSchema.safeParse(config);
  if (parsed.success) return refuseOpenListening(parsed.data);
  throw new ConfigError(parsed.error.issues.flatMap((issue) => mistakes(issue, config)).join("\n"));
}

/** Credentials are sent with every request, so beyond this machine TLS is required, unless `listen.insecure` is set. */
function refuseOpenListening(config: Config): Config {
  const { listen, tls } = config;
  if (isLoopback(listen.host) || tls !== undefined || listen.insecure) return config;
  throw new ConfigError(
    `Listening on ${listen.host} without TLS would show credentials to the network. ` +
      "Configure tls.certFile and tls.keyFile, or set listen.insecure when something in front terminates TLS.",
  );
}

/** One line for each mistake: the key, what was found, what is expected. */
function mistakes(issue: z.core.$ZodIssue, config: unknown): string[] {
  if (issue.code === "unrecognized_keys") return issue.keys.map((key) => unknownKey([...issue.path, key]));
  const { path } = issue;
  let found: unknown = config;
  for (const name of path) found = (found as Record<PropertyKey, unknown> | undefined)?.[name];
  // In the settings of models, MCP servers and webhooks there may be a secret, also one pasted by mistake.
  const isHidden = path[0] === "mcp" || (secretive.has(path[0]) && found !== undefined);
  const shown = isHidden ? "something" : hidePasswords(JSON.stringify(found) ?? "nothing").slice(0, 60);
  return [`${path.map(String).join(".") || "configuration"}: found ${shown}, ${describeExpectation(issue)}.`];
}

/** Says that there is no such key, and which one was meant. */
function unknownKey(path: readonly PropertyKey[]): string {
  const key = path.map(String).join(".");
  const keys = [...settingTypes().keys()].flatMap((known) => {
    const names = known.split(".");
    return names.map((_, place) => names.slice(0, place + 1).join("."));
  });
  // A key of another variant of this part, such as one that only a model has.
  if (keys.includes(key)) return `${key}: found something that does not go with the other settings there.`;
  const meant = nearestName(key, keys);
  return `${key}: there is no such key.${meant === undefined ? "" : ` Did you mean ${meant}?`}`;
}

/** Parts of the configuration whose values are not shown in a mistake. */
const secretive = new Set<PropertyKey | undefined>(["runtime", "notify"]);

/** The configuration without the password in a database URL and without the secrets of MCP servers and webhooks. */
export function withoutSecrets(config: Config): Config {
  const { mcp, database } = config;
  const notify = withoutNotifySecrets(config.notify);
  return { ...config, database: hidePasswords(database), notify, ...(mcp && { mcp: withoutMcpSecrets(mcp) }) };
}

function hidePasswords(text: string): string {
  return withoutUserPassword(text).replaceAll(/([?&](?:ssl)?password=)[^&]*/gi, "$1***");
}

/** Hides everything from the first colon after `://` to the last `@`, because a password may contain either of them. */
function withoutUserPassword(text: string): string {
  const scheme = text.indexOf("://");
  const colon = text.indexOf(":", scheme + 1 + "//".length);
  const end = text.lastIndexOf("@");
  return scheme !== -1 && colon !== -1 && colon < end ? `${text.slice(0, colon)}:***${text.slice(end)}` : text;
}

const defaultFile = "turnpike.config.json";

function readFile(file: string | undefined): Record<string, unknown> {
  if (file === undefined && !existsSync(defaultFile)) return {};
  const path = file ?? defaultFile;
  try {
    const config: unknown = JSON.parse(readFileSync(path, "utf8"));
    if (typeof config === "object" && config !== null && !Array.isArray(config))
      return config as Record<string, unknown>;
  } catch (cause) {
    const isMissing = (cause as NodeJS.ErrnoException).code === "ENOENT";
    throw new ConfigError(isMissing ? `${path} does not exist.` : `${path} cannot be read as JSON.`, { cause });
  }
  throw new ConfigError(`${path} has to hold a JSON object.`);
}

/** The settings in the environment: `TURNPIKE_LISTEN_PORT` is `listen.port`. An unknown `TURNPIKE_` name is a mistake. */
function settingsIn(env: NodeJS.ProcessEnv): Settings {
  const known = new Map(settingKeys().map((key) => [environmentName(key), key]));
  const settings: Record<string, string> = {};
  for (const [name, value] of Object.entries(env)) {
    if (!name.startsWith("TURNPIKE_") || value === undefined || notSettings.has(name)) continue;
    const key = known.get(name);
    if (key === undefined) throw new ConfigError(unknownVariable(name, known.keys()));
    settings[key] = value;
  }
  return settings;
}

function unknownVariable(name: string, known: Iterable<string>): string {
  const meant = nearestName(name, known);
  const advice =
    meant === undefined
      ? "Every name that begins with TURNPIKE_ is taken for one: choose another for a variable of your own."
      : `Did you mean ${meant}?`;
  return `${name} is not a setting. ${advice}`;
}

/** Variables of the command itself. */
const notSettings = new Set(["TURNPIKE_ADMIN_TOKEN", "TURNPIKE_TOKEN"]);

/** The dotted key of every setting that takes a single value. */
export function settingKeys(): string[] {
  return [...settingTypes().keys()];
}

/** The name of a setting in the environment. */
export function environmentName(key: string): string {
  return `TURNPIKE_${key.replaceAll(/[A-Z]/g, "_$&").replaceAll(".", "_").toUpperCase()}`;
}

/** Every key that takes a single value, and the type of that value, from the schema itself. */
function settingTypes(schema: z.core.$ZodType = ConfigSchema, path: readonly string[] = []): Map<string, string> {
  const { def } = schema._zod as {
    def: {
      type: string;
      innerType?: z.core.$ZodType;
      shape?: Record<string, z.core.$ZodType>;
      options?: z.core.$ZodType[];
    };
  };
  if (def.innerType !== undefined) return settingTypes(def.innerType, path);
  if (def.options !== undefined) return new Map(def.options.flatMap((option) => [...settingTypes(option, path)]));
  // A record has keys of the operator's choice, so it can only come from a file.
  if (def.type === "record") return new Map();
  if (def.shape === undefined) return new Map([[path.join("."), def.type]]);
  return new Map(Object.entries(def.shape).flatMap(([name, part]) => [...settingTypes(part, [...path, name])]));
}

/** Sets the value of a dotted key, parsed as the type that the schema has there: number, boolean, list or text. */
function assign(config: Record<string, unknown>, key: string, text: string): void {
  const path = key.split(".");
  const last = path.pop() ?? key;
  let place = config;
  for (const name of path) {
    const folder = Object.hasOwn(place, name) ? place[name] : {};
    if (typeof folder !== "object" || folder === null) {
      throw new ConfigError(`${key}: found something else than an object at ${name}.`);
    }
    define(place, name, folder);
    place = folder as Record<string, unknown>;
  }
  define(place, last, valueOf(key, text));
}

/** Defines a property, also of a special name such as `__proto__`, which then is an unknown key like any other. */
function define(place: object, name: string, value: unknown): void {
  Object.defineProperty(place, name, { value, writable: true, enumerable: true, configurable: true });
}

function valueOf(key: string, text: string): unknown {
  switch (settingTypes().get(key)) {
    case "number":
      return /^-?(0|[1-9]\d*)(\.\d+)?$/.test(text) ? Number(text) : text;
    case "boolean":
      return text === "true" ? true : text === "false" ? false : text;
    case "array":
      return text.startsWith("[") ? parsedOr(text) : text.split(",").map((part) => part.trim());
    default:
      return text;
  }
}

function parsedOr(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}
