import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import type { AccessContext, Capability, Grant, JsonObject, ToolResult } from "turnpike/contracts";
import { createKernel, type CallOptions, type Kernel, type KernelOptions, type PortFailure } from "turnpike/kernel";
import { memoryAudit, memoryGrants, type MemoryGrants } from "turnpike/testing";
import { onTestFinished } from "vitest";
import type { Log } from "../../src/telemetry/log.ts";
import { McpConfigSchema } from "../../src/mcp-servers/mcp-config.ts";
import { type McpPool, prepareMcpPool } from "../../src/mcp-servers/mcp-pool.ts";
import { memoryPins } from "./pins.ts";
import type { PinStore } from "../../src/mcp-servers/pin-store.ts";
import { context, grant, now } from "../records.ts";

export { alice, assistant, now } from "../records.ts";

const script = fileURLToPath(new URL("./server.js", import.meta.url));

/** The command line of the test server. */
export function testServer(...flags: readonly string[]): string[] {
  return [process.execPath, script, ...flags];
}

/** The tools of the test server, in order. */
export const toolNames = "change echo fail hang huge issue pid promise refuse structure sum variables".split(" ");

/** Starts the test server over HTTP; it ends with the test. */
export async function startHttpServer(...flags: readonly string[]): Promise<{ url: string; kill(): Promise<void> }> {
  const child = spawn(process.execPath, [script, "--http", ...flags], { stdio: ["ignore", "pipe", "inherit"] });
  const ended = once(child, "exit");
  const kill = async (): Promise<void> => {
    child.kill("SIGKILL");
    await ended;
  };
  onTestFinished(kill);
  const [address] = (await once(child.stdout, "data")) as [Buffer];
  return { url: address.toString().trim(), kill };
}

/** The assistant, who acts for Alice. The namespaces of the servers are on unless said otherwise. */
export function contextOf(changes: Partial<AccessContext> = {}): AccessContext {
  return context({ namespaceId: "acme", enabledToolNamespaces: ["mcp.test", "mcp.other", "files"], ...changes });
}

/** A capability over a place and everything below it, unless it is exact. */
export function capability(
  resource: string,
  actions: string[],
  scope: Capability["scope"] = "descendants",
): Capability {
  const [namespace = "", ...path] = resource.split("/");
  return { resource: { namespace, path }, actions, scope };
}

/** A grant from Alice to the assistant. */
export function grantOf(id: string, capabilities: Capability[], changes: Partial<Grant> = {}): Grant {
  return grant(id, { namespaceId: "acme", capabilities, ...changes });
}

/** A line of the log. */
export interface Logged {
  level: "info" | "warn" | "error";
  facts: Record<string, unknown>;
  message: string;
}

/** A kernel with MCP servers, and what its operator was told. */
export interface McpWorld {
  kernel: Kernel;
  pool: McpPool;
  grants: MemoryGrants;
  logged: Logged[];
  failures: PortFailure[];
  /** The assistant calls a tool. */
  call(tool: string, args?: JsonObject, changes?: Partial<AccessContext>, options?: CallOptions): Promise<ToolResult>;
  /** The names the assistant sees. */
  names(changes?: Partial<AccessContext>): Promise<string[]>;
}

export function silentLog(logged: Logged[] = []): Log {
  const at = (level: Logged["level"]) => (facts: object, message: string) =>
    void logged.push({ level, facts: facts as Record<string, unknown>, message });
  return { info: at("info"), warn: at("warn"), error: at("error") };
}

let calls = 0;

/** Servers as in the configuration file, with everything on them granted unless other grants are given. */
export function mcpWorld(
  servers: Record<string, unknown>,
  options: {
    held?: readonly Grant[];
    env?: Record<string, string>;
    ports?: Partial<KernelOptions>;
    pins?: PinStore;
  } = {},
): McpWorld {
  const logged: Logged[] = [];
  const failures: PortFailure[] = [];
  const everything = Object.keys(servers).map((name) => grantOf(name, [capability(`mcp.${name}`, ["call"])]));
  const grants = memoryGrants(options.held ?? everything);
  const pins = options.pins ?? memoryPins();
  const openPool = prepareMcpPool(McpConfigSchema.parse({ servers }), silentLog(logged), options.env ?? {});
  const pool = openPool({
    store: pins,
    pinFirst: (server, tools) => pins.pinFirst(server, tools, "service:host"),
    withdraw: (server, tools) => pins.withdraw(server, tools),
  });
  onTestFinished(() => pool.close());
  const kernel = createKernel({
    grants,
    audit: memoryAudit(),
    toolProviders: pool.providers,
    resources: pool.resources,
    onPortError: (_error, failure) => failures.push(failure),
    ...options.ports,
  });
  return {
    kernel,
    pool,
    grants,
    logged,
    failures,
    call(tool, args = {}, changes = {}, callOptions = {}) {
      calls += 1;
      const call = { id: `call-${calls}`, tool, arguments: args, requestedAt: now, traceId: "trace-1" };
      return kernel.invokeTool(contextOf(changes), call, callOptions);
    },
    names: async (changes) => (await kernel.listTools(contextOf(changes))).map(({ name }) => name),
  };
}

/** The words of a result's error, or its output. */
export function gist(result: ToolResult): unknown {
  return result.status === "succeeded" ? result.output : `${result.status} ${result.error.code}`;
}

/** The text that a server answered a call with. */
export function textOf(result: ToolResult): string {
  const { content } = gist(result) as { content: readonly { text: string }[] };
  return content.map(({ text }) => text).join("");
}

/** Whether there is such a process. */
export function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** A real client at an address; `serve` answers in the place of a network when it is given. */
export async function connectClient(
  url: string,
  token: string,
  options: { mode?: "legacy" | "auto"; serve?: (request: Request) => Promise<Response> } = {},
): Promise<Client> {
  const { mode = "legacy", serve } = options;
  const client = new Client({ name: "test", version: "1" }, { versionNegotiation: { mode } });
  onTestFinished(() => client.close());
  const transport = new StreamableHTTPClientTransport(new URL(url), {
    requestInit: { headers: { authorization: `Bearer ${token}` } },
    ...(serve && { fetch: (target, init) => serve(new Request(target, init)) }),
  });
  await client.connect(transport);
  return client;
}
