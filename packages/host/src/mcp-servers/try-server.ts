import { SdkError, SdkErrorCode } from "@modelcontextprotocol/client";
import type { JsonObject } from "turnpike/contracts";
import type { Log } from "../telemetry/index.ts";
import { createHeaderSecrets, placesOf } from "./header-secrets.ts";
import type { McpConfig, McpServerConfig } from "./mcp-config.ts";
import { openMcpConnection } from "./mcp-connection.ts";
import { routeTo } from "./mcp-pool.ts";
import { readList, type LeftOut } from "./mcp-provider.ts";
import type { McpTool } from "./mcp-tool.ts";
import type { StandardErrorLine } from "./standard-error.ts";
import { hasEnded, whyUnavailable } from "./why-unavailable.ts";

/** The outcome of trying a server. */
export type ServerTrial = { server: string } & (
  | { kind: "answers"; tools: ReadonlyMap<string, McpTool>; leftOut: readonly LeftOut[] }
  /** It requires the credentials of an owner, and no owner's are used for a trial. */
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
 * same time, and nothing that they send is stored.
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
    const connection = await openMcpConnection(route, { signal, startTimeoutMs: timeoutMs });
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
      : whyUnavailable(error, name, server) + (hasEnded(error, server) ? saidText(lastLine) || silentText : "");
    return { server: name, kind: "fails", why };
  }
}

/** The arguments that rules name and that the input of their tool does not have. */
function unknownArguments({ rules = {} }: McpServerConfig, tools: ReadonlyMap<string, McpTool>): LeftOut[] {
  return Object.entries(rules).flatMap(([tool, { path = [], paths = [path] }]) => {
    const schema = tools.get(tool)?.descriptor.inputSchema;
    if (schema === undefined) return [];
    const names = paths.flat().flatMap((part) => /^\$([^.?/]+)/.exec(part)?.[1] ?? []);
    const known = (schema["properties"] ?? {}) as JsonObject;
    return names
      .filter((name) => !Object.hasOwn(known, name))
      .map((name) => ({ tool, why: `its rule names the argument ${name}, and its input has none of this name` }));
  });
}

const silentText = " It said nothing on standard error: run the command by hand to see why.";

function saidText(line: string | undefined): string {
  return line === undefined ? "" : ` It last said on standard error: "${line}".`;
}
