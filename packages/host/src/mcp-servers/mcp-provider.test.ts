import type { CallToolResult } from "@modelcontextprotocol/client";
import type { ToolHandler } from "turnpike/kernel";
import { describe, expect, test } from "vitest";
import { memoryPins } from "../../test/mcp/pins.ts";
import { contextOf, now, silentLog } from "../../test/mcp/servers.ts";
import { neverAborted } from "../../test/records.ts";
import { McpConfigSchema } from "./mcp-config.ts";
import type { McpConnection } from "./mcp-connection.ts";
import { createMcpProvider } from "./mcp-provider.ts";
import { createToolPins } from "./tool-pins.ts";

const echo = { name: "echo", description: "Says it again.", inputSchema: { type: "object" } };
const sum = { name: "sum", description: "Adds.", inputSchema: { type: "object" } };

/** A provider whose server lists what a test says, and notes what is called. */
function open() {
  const store = memoryPins();
  const called: string[] = [];
  let entries: readonly unknown[] = [echo, sum];
  const connection: McpConnection = {
    list: () => Promise.resolve(entries),
    call(tool) {
      called.push(tool.name);
      return Promise.resolve<CallToolResult>({ content: [{ type: "text", text: "done" }] });
    },
    readResource: () => Promise.reject(new Error("not here")),
    usePrompt: () => Promise.reject(new Error("not here")),
    close: () => Promise.resolve(),
  };
  const config = McpConfigSchema.parse({ servers: { test: { command: ["test"] } } }).servers["test"];
  if (config === undefined) throw new Error("There is no configuration.");
  const pins = createToolPins({
    store,
    log: silentLog(),
    pinFirst: (server, tools) => store.pinFirst(server, tools, "service:host"),
    withdraw: (server, tools) => store.withdraw(server, tools),
  });
  const provider = createMcpProvider({
    server: "test",
    config,
    clients: {
      connection: () => Promise.resolve(connection),
      connected: () => Promise.resolve(connection),
      isConnected: () => true,
      start() {},
      keyOf: () => "",
      shared: () => Promise.resolve(connection),
      close: () => Promise.resolve(),
    },
    isOfferedTo: () => true,
    pins,
    onList() {},
  });
  const handlers = (): Promise<readonly ToolHandler[]> => Promise.resolve(provider.tools(contextOf(), neverAborted));
  return {
    store,
    pins,
    provider,
    called,
    list: (...next: readonly unknown[]) => void (entries = next),
    handlers,
    names: async () => (await handlers()).map(({ descriptor }) => descriptor.name),
    async call(handler: ToolHandler | undefined): Promise<string> {
      const call = { id: "1", tool: "mcp.test.echo", arguments: {}, requestedAt: now, traceId: "trace-1" };
      try {
        return (await handler?.invoke(contextOf(), call, neverAborted))?.status ?? "nothing";
      } catch (error) {
        return String((error as { code?: string }).code);
      }
    },
  };
}

describe("a tool that is not what was accepted", () => {
  for (const row of [
    { name: "because of its words", changed: { ...echo, description: "Sends it to all users." } },
    { name: "because of what is hidden in them", changed: { ...echo, description: "Says it again.\u{e0041}" } },
    { name: "because of its input", changed: { ...echo, inputSchema: { type: "object", properties: { to: {} } } } },
    { name: "because of its annotations", changed: { ...echo, annotations: { readOnlyHint: true } } },
  ]) {
    test(`${row.name} is not listed, and a call of it that was listed before does not reach the server`, async () => {
      const { handlers, names, call, list, called } = open();
      const [handler] = await handlers();
      list(row.changed, sum);
      expect(await names()).toEqual(["mcp.test.sum"]);
      expect(await call(handler)).toBe("tool_unavailable");
      expect(called).toEqual([]);
    });
  }

  test("is not called by a caller who listed it before, also when an operator accepted it since", async () => {
    const { handlers, call, list, called, provider, pins } = open();
    const [handler] = await handlers();
    list({ ...echo, description: "Another." }, sum);
    const changed = (await provider.listTools?.())?.get("echo");
    await pins.accept("test", changed === undefined ? [] : [changed], "human:oona");
    expect(await call(handler)).toBe("tool_unavailable");
    expect(await call((await handlers())[0])).toBe("succeeded");
    expect(called).toEqual(["echo"]);
  });

  test("is offered as soon as it is accepted, though the server's list is the same", async () => {
    const { names, list, provider, pins } = open();
    await names();
    list({ ...echo, description: "Another." }, sum);
    expect(await names()).toEqual(["mcp.test.sum"]);
    const changed = (await provider.listTools?.())?.get("echo");
    await pins.accept("test", changed === undefined ? [] : [changed], "human:oona");
    expect(await names()).toEqual(["mcp.test.echo", "mcp.test.sum"]);
  });
});

describe("pins that cannot be read", () => {
  test("make the server unavailable, and nothing is called; it is there again when they can", async () => {
    const { store, handlers, call, called, list } = open();
    const [handler] = await handlers();
    store.failure = new Error("the database is away");
    list(echo, sum);
    expect(await call(handler)).toBe("tool_catalog_unavailable");
    await expect(handlers()).rejects.toThrow("the database is away");
    expect(called).toEqual([]);
    store.failure = undefined;
    expect(await call(handler)).toBe("succeeded");
  });

  test("do not disturb calls of a list that was compared before", async () => {
    const { store, handlers, call } = open();
    const [handler] = await handlers();
    store.failure = new Error("the database is away");
    expect(await call(handler)).toBe("succeeded");
  });
});

test("pins are read once for each list of the server, however many calls there are", async () => {
  const { store, handlers, call, list } = open();
  const [handler] = await handlers();
  const before = store.reads;
  for (let time = 0; time < 5; time += 1) expect(await call(handler)).toBe("succeeded");
  expect(store.reads).toBe(before);
  list(echo, sum);
  for (let time = 0; time < 5; time += 1) expect(await call(handler)).toBe("succeeded");
  expect(store.reads).toBe(before + 1);
});
