import { existsSync } from "node:fs";
import { SdkError, SdkErrorCode, SdkHttpError } from "@modelcontextprotocol/client";
import type { JsonObject } from "turnpike/contracts";
import { ConfigError } from "../base/index.ts";
import type { Log } from "../observe/index.ts";
import { createHeaderSecrets, HeaderSecretError, placesOf } from "./header-secrets.ts";
import type { McpConfig, McpServerConfig } from "./mcp-config.ts";
import { openMcpConnection } from "./mcp-connection.ts";
import { routeTo } from "./mcp-pool.ts";
import { readList, type LeftOut } from "./mcp-provider.ts";
import type { McpTool } from "./mcp-tool.ts";
import type { StandardErrorLine } from "./standard-error.ts";

/** What became of trying a server. */
export type ServerTrial = { server: string } & (
  | { kind: "answers"; tools: ReadonlyMap<string, McpTool>; leftOut: readonly LeftOut[] }
  /** It takes the credentials of an owner, and nobody's are used for this. */
  | { kind: "not tried" }
  /** `why` says what happened and what to do. */
  | { kind: "fails"; why: string }
);

/** How servers are tried. */
export interface TrialOptions {
  env: Readonly<Record<string, string | undefined>>;
  /** How long each may take. */
  timeoutMs?: number;
}

/**
 * Starts or connects to every server, as the host would, reads its list, and closes everything again. Servers are tried at the
 * same time, and nothing is kept of what they say.
 */
export function tryServers({ servers }: McpConfig, options: TrialOptions): Promise<ServerTrial[]> {
  return Promise.all(Object.entries(servers).map(([name, server]) => tryServer(name, server, options)));
}

async function tryServer(
  name: string,
  server: McpServerConfig,
  { env, timeoutMs = 10_000 }: TrialOptions,
): Promise<ServerTrial> {
  const { headers = {} } = server;
  if (Object.values(headers).some((secret) => placesOf(secret).owner || placesOf(secret).tenant))
    return { server: name, kind: "not tried" };
  const heard: StandardErrorLine[] = [];
  const log: Log = { info: (facts) => void heard.push(facts), warn() {}, error() {} };
  const signal = AbortSignal.timeout(timeoutMs);
  try {
    const secrets = Object.keys(headers).length === 0 ? undefined : createHeaderSecrets(headers, undefined);
    const route = routeTo(name, server, env, log)(secrets);
    const connection = await openMcpConnection(route, signal, () => {});
    try {
      let leftOut: readonly LeftOut[] = [];
      const onList = (unused: readonly LeftOut[]): void => void (leftOut = unused);
      const tools = readList({ server: name, config: server, onList }, await connection.list());
      return { server: name, kind: "answers", tools, leftOut: [...leftOut, ...unknownArguments(server, tools)] };
    } finally {
      await connection.close();
    }
  } catch (error) {
    const isLate = signal.aborted || (error instanceof SdkError && error.code === SdkErrorCode.RequestTimeout);
    const lastLine = heard.findLast(({ line }) => line !== undefined)?.line;
    const why = isLate
      ? `it did not answer within ${timeoutMs / 1000} s.${saidText(lastLine)} Check that it runs, and what it waits for.`
      : whyOf(error, name, server, lastLine);
    return { server: name, kind: "fails", why };
  }
}

/** The arguments that rules name and that the input of their tool does not have. */
function unknownArguments({ rules = {} }: McpServerConfig, tools: ReadonlyMap<string, McpTool>): LeftOut[] {
  return Object.entries(rules).flatMap(([tool, { path = [], paths = [path] }]) => {
    const schema = tools.get(tool)?.descriptor.inputSchema;
    if (schema === undefined) return [];
    const names = paths.flat().flatMap((part) => /^\$([^.?]+)/.exec(part)?.[1] ?? []);
    const known = (schema["properties"] ?? {}) as JsonObject;
    return names
      .filter((name) => !Object.hasOwn(known, name))
      .map((name) => ({ tool, why: `its rule names the argument ${name}, and its input has none of this name` }));
  });
}

/** Why a server cannot be used, and what to do about it. */
function whyOf(error: unknown, name: string, server: McpServerConfig, lastLine: string | undefined): string {
  const key = `mcp.servers.${name}`;
  if (error instanceof ConfigError) return error.message;
  if (error instanceof HeaderSecretError) return `${error.message}. Correct ${key}.headers.`;
  if (error instanceof RangeError) return `its list of tools is not used. ${error.message}`;
  return server.url === undefined
    ? whyNotStarted(error, key, server, lastLine)
    : whyNotReached(error, key, new URL(server.url));
}

function whyNotStarted(
  error: unknown,
  key: string,
  { command = [], cwd }: McpServerConfig,
  lastLine: string | undefined,
): string {
  const [program = ""] = command;
  const code = codesOf(error)[0];
  if (cwd !== undefined && !existsSync(cwd)) return `the folder ${cwd} is not there. Make it, or correct ${key}.cwd.`;
  if (code === "ENOENT") return `the program ${program} is not found. Install it, or correct ${key}.command.`;
  if (code === "EACCES") return `the program ${program} cannot be started by this user. Check its permissions.`;
  const said = saidText(lastLine) || " It said nothing on standard error: run the command by hand to see why.";
  return `it started, and does not speak MCP (${code ?? "no answer"}).${said}`;
}

const certificateCodes =
  /^(CERT_|ERR_TLS_|ERR_SSL_|UNABLE_TO_|SELF_SIGNED_CERT|DEPTH_ZERO_SELF_SIGNED_CERT|HOSTNAME_MISMATCH|EPROTO$)/;

function whyNotReached(error: unknown, key: string, { host }: URL): string {
  if (error instanceof SdkHttpError) return whyRefused(error.status, key);
  const codes = codesOf(error);
  const certificate = codes.find((code) => certificateCodes.test(code));
  if (certificate !== undefined) {
    const next = `Correct ${key}.url, or name the authority that signed it in NODE_EXTRA_CA_CERTS.`;
    return `the certificate of ${host} is not accepted (${certificate}). ${next}`;
  }
  const code = codes.at(-1);
  return `nobody answers at ${host} (${code ?? "no answer"}). Start the server, or correct ${key}.url.`;
}

function whyRefused(status: number | undefined, key: string): string {
  if (status === 401 || status === 403)
    return `it refuses the credentials (${status}). Check the key, and ${key}.headersEnv or ${key}.headers.`;
  if (status === 404 || status === 405)
    return `there is no MCP server at this address (${status}). Correct ${key}.url.`;
  return `it answers with status ${status ?? "unknown"}. Look into its log.`;
}

function saidText(line: string | undefined): string {
  return line === undefined ? "" : ` It last said on standard error: "${line}".`;
}

/** The codes of an error and of its causes, the outermost first. */
function codesOf(error: unknown): string[] {
  const codes: string[] = [];
  for (let at = error, depth = 0; at instanceof Error && depth < 8; at = at.cause, depth += 1) {
    if ("code" in at && typeof at.code === "string") codes.push(at.code);
    if (at instanceof AggregateError) codes.push(...at.errors.flatMap(codesOf));
  }
  return codes;
}
