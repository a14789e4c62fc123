import { existsSync } from "node:fs";
import { SdkError, SdkErrorCode, SdkHttpError } from "@modelcontextprotocol/client";
import { ZodError } from "zod";
import { ConfigError } from "../shared/index.ts";
import { HeaderSecretError } from "./header-secrets.ts";
import type { McpServerConfig } from "./mcp-config.ts";

/** Why a server cannot be used, and what to do about it. It quotes the configuration, and nothing that a server said. */
export function whyUnavailable(error: unknown, name: string, server: McpServerConfig): string {
  const key = `mcp.servers.${name}`;
  if (error instanceof ConfigError) return error.message;
  if (error instanceof HeaderSecretError) return `${error.message}. Correct ${key}.headers.`;
  if (error instanceof RangeError) return `its list of tools is not used. ${error.message}`;
  if (error instanceof ZodError) return "its answer is not what MCP says it should be. Try another version of it.";
  return server.url === undefined ? whyNotStarted(error, key, server) : whyNotReached(error, key, new URL(server.url));
}

/** Whether the program of a server has ended. */
export function hasEnded(error: unknown, { url }: McpServerConfig): boolean {
  return url === undefined && error instanceof SdkError && error.code === SdkErrorCode.ConnectionClosed;
}

function whyNotStarted(error: unknown, key: string, server: McpServerConfig): string {
  const { command = [], cwd } = server;
  const [program = ""] = command;
  const code = codesOf(error)[0];
  if (cwd !== undefined && !existsSync(cwd)) return `the folder ${cwd} is not there. Make it, or correct ${key}.cwd.`;
  if (code === "ENOENT") return `the program ${program} is not found. Install it, or correct ${key}.command.`;
  if (code === "EACCES") return `the program ${program} cannot be started by this user. Check its permissions.`;
  if (hasEnded(error, server)) return "the program ended, or closed its standard output.";
  return `it started, and does not speak MCP (${code ?? "no answer"}). Run the command by hand to see why.`;
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
  return `no server answers at ${host} (${code ?? "no answer"}). Start the server, or correct ${key}.url.`;
}

function whyRefused(status: number | undefined, key: string): string {
  if (status === 401 || status === 403)
    return `it refuses the credentials (${status}). Check the key, and ${key}.headersEnv or ${key}.headers.`;
  if (status === 404 || status === 405)
    return `there is no MCP server at this address (${status}). Correct ${key}.url.`;
  return `it answers with status ${status ?? "unknown"}. Read its log.`;
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
