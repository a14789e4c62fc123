import { ArgumentRuleSchema, IdentifierSchema, parsePrincipal } from "turnpike/contracts";
import { z } from "zod";
import { EnvironmentNameSchema, isLoopback } from "../shared/index.ts";

const PrincipalTextSchema = z
  .string()
  .refine((text) => parsePrincipal(text) !== undefined, "expected kind:id, such as human:alice");

/** Text in which `{owner}` and `{tenant}` are replaced by those of the wanted secret. */
const TemplateSchema = z
  .string()
  .min(1)
  .refine(
    (text) => !/[{}]/.test(text.replaceAll(/\{(owner|tenant)\}/g, "")),
    "expected no other braces than {owner} and {tenant}",
  );

const HeaderSecretSchema = z
  .strictObject({
    command: z
      .array(TemplateSchema)
      .min(1)
      .refine(([program = ""]) => !program.includes("{"), "expected a program whose name has no braces")
      .optional()
      .describe("program and arguments that print the value"),
    file: TemplateSchema.optional().describe("file that holds the value"),
  })
  .refine(
    ({ command, file }) => (command === undefined) !== (file === undefined),
    "expected either a command or a file",
  );

/** Where the value of a header comes from. */
export type HeaderSecret = z.infer<typeof HeaderSecretSchema>;

/** The number of a system user or group. Root is refused, because it would be no isolation. */
const SystemIdSchema = z
  .int()
  .max(4_294_967_294)
  .refine((id) => id > 0, "expected a number above 0, which is root's");

const McpServerSchema = z
  .strictObject({
    command: z.array(z.string().min(1)).min(1).optional().describe("program and arguments of a stdio server"),
    env: z.record(z.string().min(1), z.string()).optional(),
    cwd: z.string().min(1).optional(),
    uid: SystemIdSchema.optional().describe("user that a stdio server runs as"),
    gid: SystemIdSchema.optional().describe("group that a stdio server runs as"),
    url: z.string().optional().describe("address of a streamable HTTP server"),
    headersEnv: z
      .record(z.string(), EnvironmentNameSchema)
      .optional()
      .describe("header to the environment variable that holds its value"),
    headers: z
      .record(z.string(), HeaderSecretSchema)
      .optional()
      .describe("header to the command or the file that gives its value, which may depend on the owner of a call"),
    insecure: z.boolean().optional().describe("talk HTTP without TLS beyond loopback"),
    tenants: z.array(IdentifierSchema).optional(),
    owners: z.array(PrincipalTextSchema).optional(),
    rules: z.record(z.string(), ArgumentRuleSchema).optional(),
    start: z
      .enum(["eager", "first-use"])
      .default("eager")
      .describe("when the server is connected: with the host, or when it is first needed"),
    startTimeoutMs: z
      .int()
      .min(1)
      .max(600_000)
      .default(30_000)
      .describe("how long the server may take to start, for which a first list of its tools waits"),
    timeoutMs: z.int().min(1).max(600_000).default(30_000),
    maxOutputBytes: z.int().min(1).max(67_108_864).default(1_048_576),
  })
  .superRefine((server, { addIssue }) => {
    const mistake = mistakeIn(server);
    if (mistake !== undefined) addIssue({ code: "custom", path: [mistake.key], message: mistake.message });
  });

/** One MCP server whose tools the host offers. */
export type McpServerConfig = z.infer<typeof McpServerSchema>;

/** A name has no dots, so that `mcp.a` is never the beginning of another server's namespace. */
const serverName = /^[a-z0-9][a-z0-9_-]{0,62}$/;

export const McpConfigSchema = z.strictObject({
  servers: z.record(z.string(), McpServerSchema).superRefine((servers, { addIssue }) => {
    const message = "expected a name of 1 to 63 lower-case letters, digits, _ and -";
    for (const name of Object.keys(servers)) {
      if (!serverName.test(name)) addIssue({ code: "custom", path: [name], message });
    }
  }),
});

/** The MCP servers of a host, by name. */
export type McpConfig = z.infer<typeof McpConfigSchema>;

const belongsTo = {
  env: "command",
  cwd: "command",
  uid: "command",
  gid: "command",
  headersEnv: "url",
  headers: "url",
  insecure: "url",
} as const;

function mistakeIn(server: McpServerConfig): { key: string; message: string } | undefined {
  if ((server.command === undefined) === (server.url === undefined)) {
    return { key: "command", message: "expected either a command or a url" };
  }
  for (const [key, other] of Object.entries(belongsTo)) {
    if (server[key as keyof typeof belongsTo] !== undefined && server[other] === undefined) {
      return { key, message: `expected only together with a ${other}` };
    }
  }
  // A program that changes only its user would still have the host's group.
  const alone = server.gid === undefined ? "uid" : "gid";
  if ((server.uid === undefined) !== (server.gid === undefined)) {
    return { key: alone, message: "expected uid and gid together" };
  }
  const inHeaders = headerMistake(server);
  if (inHeaders !== undefined) return inHeaders;
  const message = server.url === undefined ? undefined : urlMistake(server.url, server.insecure === true);
  return message === undefined ? undefined : { key: "url", message };
}

function headerMistake({ headersEnv = {}, headers = {}, tenants }: McpServerConfig): ReturnType<typeof mistakeIn> {
  for (const [key, named] of Object.entries({ headersEnv, headers })) {
    if (!Object.keys(named).every((name) => /^[\w-]+$/.test(name)))
      return { key, message: "expected names of headers" };
  }
  const names = [...Object.keys(headersEnv), ...Object.keys(headers)].map((name) => name.toLowerCase());
  if (new Set(names).size < names.length) return { key: "headers", message: "expected each header once" };
  // Owners of two tenants may have the same name, and one must not get the other's key.
  const isShared = Object.values(headers).some((secret) => {
    const text = JSON.stringify(secret);
    return text.includes("{owner}") && !text.includes("{tenant}");
  });
  if (tenants?.length === 1) return undefined;
  const beside =
    "expected {tenant} beside {owner}, or one tenant alone in `tenants`: names of owners are a tenant's own";
  if (isShared) return { key: "headers", message: beside };
  const texts = Object.values(headers).flatMap(({ command = [], file = "" }) => [...command, file]);
  const apart = "expected a / or another character between {tenant} and {owner} that neither of them can have";
  return texts.some((text) => joined.test(text)) ? { key: "headers", message: apart } : undefined;
}

/** Matches two names that only characters of names separate: owners of two tenants could then have the same text. */
const joined = /\{owner\}[\w.:@%-]*\{tenant|\{tenant\}[\w.:@%-]*\{owner/;

/** Headers are sent with every request, so beyond this machine TLS is required, unless `insecure` is set. */
function urlMistake(text: string, isInsecureWanted: boolean): string | undefined {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || !/^https?:$/.test(url.protocol)) return "expected an http or https URL";
  if (url.username !== "" || url.password !== "") return "expected no credentials in a URL; use headersEnv or headers";
  if (url.protocol === "https:" || isLoopback(url.hostname) || isInsecureWanted) return undefined;
  return "expected https beyond this machine, or insecure: true";
}

/** The servers without secrets: the values of variables and the query of a URL are hidden. */
export function withoutMcpSecrets({ servers }: McpConfig): McpConfig {
  const shown = Object.entries(servers).map(([name, server]) => {
    const { env, url } = server;
    const hidden = env && Object.fromEntries(Object.keys(env).map((variable) => [variable, "***"]));
    return [name, { ...server, ...(hidden && { env: hidden }), ...(url && { url: url.replace(/\?.*/s, "?***") }) }];
  });
  return { servers: Object.fromEntries(shown) as McpConfig["servers"] };
}
