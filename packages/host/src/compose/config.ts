import { readJsonText, TurnOptionsSchema } from "turnpike/contracts";
import { z } from "zod";
import { JwtConfigSchema } from "../access/index.ts";
import {
  allLimitSchemas,
  toolLimitSchemas,
  ConfigError,
  isLoopback,
  kindOf,
  positive,
  readConfigFile,
} from "../shared/index.ts";
import { OAuthConfigSchema } from "../connections/index.ts";
import { providersOf, SignInConfigSchema } from "../people/index.ts";
import { AuditSettingsSchema } from "../audit/index.ts";
import { ListenSchema, PublicUrlSchema, TlsSchema } from "../front/index.ts";
import { NotifySettingsSchema, withoutNotifySecrets } from "../webhooks/index.ts";
import { DatabaseSettingsSchema } from "../storage/index.ts";
import { LogSettingsSchema } from "../telemetry/index.ts";
import { RetentionSettingsSchema } from "../retention/index.ts";
import { RuntimeConfigSchema } from "../turns/index.ts";
import { McpConfigSchema, withoutMcpSecrets } from "../mcp-servers/index.ts";
import { hidePasswords, mistakesIn } from "./config-mistakes.ts";
import { settingsIn } from "./config-variables.ts";

const ConfigSchema = z.strictObject({
  listen: ListenSchema.prefault({}),
  tls: TlsSchema.optional(),
  publicUrl: PublicUrlSchema.optional(),
  database: DatabaseSettingsSchema.default(".turnpike/turnpike.db"),
  admin: z
    .strictObject({ tokenFile: z.boolean().default(true).describe("store the operator's token in a file") })
    .prefault({}),
  jwt: JwtConfigSchema.optional(),
  signIn: SignInConfigSchema.optional(),
  oauth: OAuthConfigSchema.prefault({}),
  mcp: McpConfigSchema.optional(),
  limits: z.strictObject(allLimitSchemas()).prefault({}),
  turns: TurnOptionsSchema.prefault({}),
  tools: z.strictObject(toolLimitSchemas()).prefault({}),
  runtime: RuntimeConfigSchema.default({ kind: "none" }),
  replay: z.strictObject({ keepResultsDays: positive.default(7), keepReadsHours: positive.default(1) }).prefault({}),
  retention: RetentionSettingsSchema.prefault({}),
  escalations: z
    .strictObject({
      expireHours: positive.default(24),
      permitMinutes: positive.default(15).describe("minutes for which the approval of an act can be used"),
      maxPermitMinutes: positive
        .max(1440)
        .default(1440)
        .describe(
          "minutes for which the approval of an act can be used at most, and a grant that was requested without an end",
        ),
      refusalMinutes: positive.default(60).describe("minutes for which the denial of an act counts"),
      approvals: positive.max(2).default(1).describe("people who have to approve an escalation"),
      answeredBy: z
        .array(z.enum(["authority", "reviewers"]))
        .min(1)
        .default(["authority", "reviewers"])
        .describe("who answers escalations: the person whose authority is used, or operators who review"),
    })
    .refine(({ approvals, answeredBy }) => approvals === 1 || answeredBy.includes("reviewers"), {
      path: ["answeredBy"],
      message: "expected reviewers among them: one of two approvals is another's than the person's own",
    })
    .superRefine(({ permitMinutes, maxPermitMinutes }, { addIssue }) => {
      if (permitMinutes <= maxPermitMinutes) return;
      const message = `expected no more than escalations.maxPermitMinutes: ${permitMinutes} is more than ${maxPermitMinutes}`;
      addIssue({ code: "custom", path: ["permitMinutes"], input: permitMinutes, message });
    })
    .prefault({}),
  notify: NotifySettingsSchema.prefault({}),
  audit: AuditSettingsSchema.prefault({}),
  log: LogSettingsSchema.prefault({}),
});

/** Everything that can be configured. */
export type Config = z.infer<typeof ConfigSchema>;

/** The JSON Schema of the configuration file. It is published with the package, and a test keeps it current. */
export function configJsonSchema(): Record<string, unknown> {
  const { properties, ...schema } = z.toJSONSchema(ConfigSchema, { io: "input", target: "draft-7" });
  return {
    title: "The configuration of a Turnpike host",
    ...schema,
    properties: { $schema: { type: "string", description: "where the JSON Schema of this file is" }, ...properties },
  };
}

/** A setting by its dotted key, such as `listen.port`. */
export type Settings = Readonly<Record<string, string>>;

/** Where a configuration comes from. */
export interface ConfigSources {
  file?: string | undefined;
  env: NodeJS.ProcessEnv;
  flags: Settings;
  /** Told of variables that look like settings and are none. */
  warn?: ((message: string) => void) | undefined;
}

/** The configuration from a file, then the environment, then flags; the later wins. Throws `ConfigError`. */
export function loadConfig({ file: named, env, flags, warn = () => {} }: ConfigSources): Config {
  const file = readConfigFile(named);
  const config = structuredClone(file?.settings ?? {}) as Record<string, unknown>;
  const variables = settingsIn(env, settingKeys(), warn);
  // In order, so that a database is there before what is said of it.
  for (const [key, text] of Object.entries({ ...variables, ...flags }).toSorted()) assign(config, key, text);
  const parsed = ConfigSchema.safeParse(config);
  if (parsed.success) return refuseUnknownOrigin(refuseOpenListening(parsed.data));
  const origins = { file, variables, flags };
  const mistakes = parsed.error.issues.flatMap((issue) => mistakesIn(issue, config, settingSchemas(), origins));
  throw new ConfigError(mistakes.join("\n"), { code: "invalid_config" });
}

/** Credentials are sent with every request, so beyond this machine TLS is required, unless `listen.insecure` is set. */
function refuseOpenListening(config: Config): Config {
  const { listen, tls } = config;
  if (isLoopback(listen.host) || tls !== undefined || listen.insecure) return config;
  throw new ConfigError(
    `Listening on ${listen.host} without TLS would show credentials to the network. ` +
      "Configure tls.certFile and tls.keyFile, or set listen.insecure when something in front terminates TLS.",
    { code: "invalid_config" },
  );
}

/** Where a provider sends browsers back to must not follow from what a request says. */
function refuseUnknownOrigin(config: Config): Config {
  if (providersOf(config.signIn).length === 0 || config.publicUrl !== undefined || isLoopback(config.listen.host))
    return config;
  throw new ConfigError("signIn: expected publicUrl as well, where browsers reach this host.", {
    code: "invalid_config",
  });
}

/** The configuration without the password in a database URL and without the secrets of MCP servers and webhooks. */
export function withoutSecrets(config: Config): Config {
  const { mcp } = config;
  const notify = withoutNotifySecrets(config.notify);
  const database = withoutPasswords(config.database);
  return { ...config, database, notify, ...(mcp && { mcp: withoutMcpSecrets(mcp) }) };
}

function withoutPasswords(database: Config["database"]): Config["database"] {
  if (typeof database === "string") return hidePasswords(database);
  const { url, directUrl } = database;
  return { ...database, url: hidePasswords(url), ...(directUrl && { directUrl: hidePasswords(directUrl) }) };
}

/** The dotted key of every setting that takes a single value. */
export function settingKeys(): string[] {
  return [...settingSchemas().keys()];
}

/** Every key that takes a single value, and the schema of that value. */
function settingSchemas(
  schema: z.core.$ZodType = ConfigSchema,
  path: readonly string[] = [],
): Map<string, z.core.$ZodType> {
  const { def } = schema._zod as {
    def: {
      type: string;
      innerType?: z.core.$ZodType;
      shape?: Record<string, z.core.$ZodType>;
      options?: z.core.$ZodType[];
    };
  };
  if (def.innerType !== undefined) return settingSchemas(def.innerType, path);
  if (def.options !== undefined) return new Map(def.options.flatMap((option) => [...settingSchemas(option, path)]));
  // A record has keys of the operator's choice, so it can only come from a file.
  if (def.type === "record") return new Map();
  if (def.shape === undefined) return new Map([[path.join("."), schema]]);
  return new Map(Object.entries(def.shape).flatMap(([name, part]) => [...settingSchemas(part, [...path, name])]));
}

/** Sets the value of a dotted key, parsed as the type that the schema has there: number, boolean, list or text. */
function assign(config: Record<string, unknown>, key: string, text: string): void {
  const path = key.split(".");
  const last = path.pop() ?? key;
  let place = config;
  for (const name of path) {
    const found = Object.hasOwn(place, name) ? place[name] : {};
    // A database that is its URL may be given more.
    const folder = name === "database" && typeof found === "string" ? { url: found } : found;
    if (typeof folder !== "object" || folder === null) {
      throw new ConfigError(`${key}: found ${kindOf(folder)} at ${name}, expected an object.`, {
        code: "invalid_config",
      });
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
  switch (settingSchemas().get(key)?._zod.def.type) {
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
  const reading = readJsonText(text);
  return reading.ok ? reading.value : text;
}
