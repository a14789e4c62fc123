import { join } from "node:path";
import type { ToolHandler } from "turnpike/kernel";
import type { RuntimePlugin } from "turnpike/runtime";
import { onTestFinished } from "vitest";
import { loadConfig } from "../src/compose/config.ts";
import type { Stores } from "../src/compose/stores.ts";
import { wireHost } from "../src/compose/wire-host.ts";
import { loadMcpPool, McpConfigSchema } from "../src/mcp-servers/index.ts";
import type { Database } from "../src/storage/index.ts";
import { createLog, createMetrics, type Log } from "../src/telemetry/index.ts";
import { temporaryFolder } from "./databases.ts";
import { asFetch } from "./fetch-front.ts";
import { alice, assistant, grant } from "./records.ts";

/** What a wired host gets besides its database. */
export interface WiredHostParts {
  runtime: RuntimePlugin;
  tools?: readonly ToolHandler[];
  /** The MCP servers, as in the configuration. */
  servers?: Readonly<Record<string, unknown>>;
  /** What the host's clock says; the time of the machine unless given. */
  clock?: () => Date;
  /** Settings of the configuration by their dotted keys. */
  settings?: Readonly<Record<string, string>>;
  /** What it logs is told to this; to no one unless given. */
  log?: Log;
}

/** A whole host without a socket. Nothing runs in its background. */
export interface WiredTestHost {
  stores: Stores;
  /** What it answers to a request of the bearer of a token. */
  post(token: string, path: string, body: object, more?: WiredRequest): Promise<WiredAnswer>;
  get(token: string, path: string): Promise<WiredAnswer>;
  /** Closes the host before the test ends. */
  close(): Promise<void>;
}

interface WiredRequest {
  headers?: Readonly<Record<string, string>>;
  /** Fires when the caller hangs up. */
  signal?: AbortSignal;
}

interface WiredAnswer {
  status: number;
  headers: Headers;
  body: Record<string, unknown>;
}

/** Wires a host on a database, for the time of a test. */
export async function openWiredHost(database: Database, parts: WiredHostParts): Promise<WiredTestHost> {
  const { runtime, tools = [], servers = {}, clock, settings, log = createLog({ level: "silent" }) } = parts;
  const folder = temporaryFolder();
  const config = await loadConfig({
    env: {},
    flags: {
      database: join(folder, "unused.db"),
      "audit.keyFile": join(folder, "key.pem"),
      "audit.checkpointFile": join(folder, "checkpoints.jsonl"),
      "retention.auditFolder": join(folder, "exports"),
      "admin.tokenFile": "false",
      ...settings,
    },
  });
  const openPool = await loadMcpPool(McpConfigSchema.parse({ servers }), log);
  const made = {
    database,
    metrics: createMetrics(),
    tracing: undefined,
    openPool,
    webhooks: [],
    consoleUrl: () => "https://host.test/console",
  };
  const host = await wireHost(config, { log, runtime, tools, ...(clock && { clock }) }, made);
  let closed: Promise<void> | undefined;
  const close = (): Promise<void> => (closed ??= host.close(() => Promise.resolve()));
  onTestFinished(close);
  const send = asFetch(host.front);
  const request = async (token: string, path: string, init: RequestInit, traceId = "trace-1"): Promise<WiredAnswer> => {
    const headers = { ...init.headers, authorization: `Bearer ${token}`, "x-trace-id": traceId };
    const response = await send(new Request(`http://host${path}`, { ...init, headers }));
    return { ...pick(response), body: bodyOf(await response.text()) };
  };
  return {
    stores: host.stores,
    close,
    post: (token, path, body, { headers, signal } = {}) =>
      request(
        token,
        path,
        { method: "POST", body: JSON.stringify(body), ...(headers && { headers }), ...(signal && { signal }) },
        (body as { traceId?: string }).traceId ?? "trace-1",
      ),
    get: (token, path) => request(token, path, { method: "GET" }),
  };
}

/** The answer, or the first event of one that is a stream. */
function bodyOf(text: string): WiredAnswer["body"] {
  const [, event = text] = /^data: (.*)$/m.exec(text) ?? [];
  return JSON.parse(event) as WiredAnswer["body"];
}

function pick({ status, headers }: Response): Pick<WiredAnswer, "status" | "headers"> {
  return { status, headers };
}

/** A grant of Alice's to the assistant, over everything in these namespaces. */
export function grantOver(id: string, namespaceId: string, namespaces: readonly string[]) {
  const capabilities = namespaces.map((namespace) => ({
    resource: { namespace, path: [] },
    actions: ["*"],
    scope: "descendants" as const,
  }));
  return grant(id, { namespaceId, capabilities });
}

/** A tenant in which the assistant may do everything in these namespaces, whose tools are on; and the assistant's credential. */
export async function openTenant(
  { credentials, grants, settings }: Pick<Stores, "credentials" | "grants" | "settings">,
  namespaceId: string,
  namespaces: readonly string[],
): Promise<{ id: string; token: string }> {
  const access = { actor: assistant, owner: alice, authority: alice, purposes: ["support"] };
  const made = await credentials.create({ namespaceId, access });
  await grants.issue(grantOver("everything", namespaceId, namespaces));
  const enable = namespaces.filter((namespace) => !namespace.startsWith("service."));
  await settings.change({ namespaceId, actor: assistant }, { enable });
  return made;
}
