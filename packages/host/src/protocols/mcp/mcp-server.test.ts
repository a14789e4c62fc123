import { describe, expect, test } from "vitest";
import { connectClient, contextOf, now } from "../../../test/mcp/servers.ts";
import { servedWorld, type ServedWorld } from "../../../test/mcp/endpoint.ts";

const url = "http://turnpike.test/mcp";

for (const mode of ["legacy", "auto"] as const) {
  describe(`a client of the ${mode === "legacy" ? "older" : "newer"} protocol`, () => {
    const connect = (world: ServedWorld, token = "assistant") =>
      connectClient(url, token, { mode, serve: world.serve });

    test("sees exactly the tools that its credential may use", async () => {
      const world = servedWorld();
      const names = async (token: string): Promise<string[]> =>
        (await (await connect(world, token)).listTools()).tools.map(({ name }) => name);
      expect(await names("assistant")).toEqual(["notes_read"]);
      expect(await names("alice")).toEqual(["notes_burn", "notes_read"]);
      const shown = await world.api.listTools(contextOf({ enabledToolNamespaces: ["notes"] }));
      const { tools } = await (await connect(world)).listTools();
      expect(tools.map(({ _meta }) => _meta?.["turnpike/name"])).toEqual(shown.map(({ name }) => name));
    });

    test("does not see the tool that only a turn can use", async () => {
      const world = servedWorld({
        changeApi: (api) => ({
          ...api,
          async listTools(context, options) {
            const tools = await api.listTools(context, options);
            return tools.flatMap((tool) => [tool, { ...tool, name: "service.escalate", namespace: "service" }]);
          },
        }),
      });
      expect((await (await connect(world)).listTools()).tools).toMatchObject([{ name: "notes_read" }]);
    });

    test("sees what a tool takes, gives and does", async () => {
      const client = await connect(servedWorld(), "alice");
      const note = { type: "string" };
      expect((await client.listTools()).tools).toEqual([
        {
          name: "notes_burn",
          description: "Can burn a note.",
          inputSchema: { type: "object", properties: { note }, required: ["note"], additionalProperties: false },
          outputSchema: {
            type: "object",
            properties: { note, by: note },
            required: ["note", "by"],
            additionalProperties: false,
          },
          annotations: { readOnlyHint: false },
          _meta: { "turnpike/name": "notes.burn" },
        },
        expect.objectContaining({ name: "notes_read", annotations: { readOnlyHint: true } }),
      ]);
      expect(client.getServerVersion()).toEqual({ name: "turnpike", version: "1.2.3" });
    });

    test("gets the output of an allowed call as structure and as text", async () => {
      const client = await connect(servedWorld());
      const output = { note: "a", by: '{"kind":"agent","agentId":"assistant"}' };
      expect(await client.callTool({ name: "notes.read", arguments: { note: "a" } })).toMatchObject({
        content: [{ type: "text", text: JSON.stringify(output) }],
        structuredContent: output,
      });
    });

    test("calls a tool by the name it is shown and by its real one, and neither costs a listing", async () => {
      const world = servedWorld();
      const client = await connect(world);
      for (const name of ["notes_read", "notes.read"]) {
        expect(await client.callTool({ name, arguments: { note: "a" } })).toMatchObject({
          structuredContent: { note: "a" },
        });
      }
      const types = world.audit.events.map(({ type }) => type);
      expect(types.filter((type) => type === "tool.catalog.listed")).toEqual([]);
      expect(types.filter((type) => type === "tool.invoked")).toHaveLength(2);
    });

    test("calls a tool whose shown name has a hash, as long as it may use it", async () => {
      const called: string[] = [];
      let shown = ["mcp.wiki.page.read", "mcp.wiki.page_read"];
      const world = servedWorld({
        changeApi: (api) => ({
          ...api,
          async listTools(context, options) {
            const [tool] = await api.listTools(context, options);
            return shown.flatMap((name) => (tool === undefined ? [] : [{ ...tool, name }]));
          },
          invokeTool(context, call, options) {
            called.push(call.tool);
            return api.invokeTool(context, call, options);
          },
        }),
      });
      const client = await connect(world);
      const [hashed, plain] = (await client.listTools()).tools.map(({ name }) => name);
      expect([hashed, plain]).toEqual([
        expect.stringMatching(/^mcp_wiki_page_read_[0-9a-f]{8}$/),
        "mcp_wiki_page_read",
      ]);
      for (const name of [hashed ?? "", plain ?? ""]) await client.callTool({ name, arguments: {} });
      expect(called).toEqual(["mcp.wiki.page.read", "mcp.wiki.page_read"]);

      shown = ["mcp.wiki.page_read"];
      expect(await client.callTool({ name: hashed ?? "", arguments: {} })).toMatchObject({
        _meta: { "turnpike/error": { code: "tool_unavailable" } },
      });
      expect(called.at(-1)).toBe(hashed);
    });

    test("is shown neither of two tools whose names share a hash, and calls neither by it", async () => {
      const [one, other] = [34_404, 42_095].map((end) => `mcp.wiki.${"x".repeat(60)}${end}`);
      const called: string[] = [];
      const world = servedWorld({
        changeApi: (api) => ({
          ...api,
          async listTools(context, options) {
            const [tool] = await api.listTools(context, options);
            return [one, other].flatMap((name = "") => (tool === undefined ? [] : [{ ...tool, name }]));
          },
          invokeTool(context, call, options) {
            called.push(call.tool);
            return api.invokeTool(context, call, options);
          },
        }),
      });
      const client = await connect(world);
      expect((await client.listTools()).tools).toEqual([]);
      const shared = `mcp_wiki_${"x".repeat(46)}_e3b6bc4b`;
      expect(await client.callTool({ name: shared, arguments: {} })).toMatchObject({
        _meta: { "turnpike/error": { code: "tool_unavailable" } },
      });
      await client.callTool({ name: one ?? "", arguments: {} });
      expect(called).toEqual([shared, one]);
    });

    for (const row of [
      {
        name: "content alone",
        output: {
          content: [
            { type: "text", text: "a page", annotations: { audience: ["user"] }, _meta: { "wiki/line": 1 } },
            { type: "image", data: "AAECAw==", mimeType: "image/png" },
            { type: "audio", data: "AAECAw==", mimeType: "audio/wav" },
            { type: "resource_link", uri: "wiki://page/1", name: "page 1" },
            { type: "resource", resource: { uri: "wiki://page/1", mimeType: "text/plain", text: "a page" } },
          ],
        },
        metadata: { mcp: {} },
      },
      {
        name: "a structure beside its content",
        output: { pages: 2 },
        metadata: { mcp: { content: [{ type: "text", text: "two pages" }], _meta: { "wiki/took": 3 } } },
      },
      {
        name: "a structure that has a key content",
        output: { content: "none" },
        metadata: { mcp: { content: [] } },
      },
    ]) {
      test(`gets what an MCP server said as it was said: ${row.name}`, async () => {
        const world = servedWorld({
          changeApi: (api) => ({
            ...api,
            invokeTool: (_context, { id: callId, tool }) =>
              Promise.resolve({ status: "succeeded", callId, tool, completedAt: now, ...row }),
          }),
        });
        const result = await (await connect(world)).callTool({ name: "notes_read", arguments: {} });
        const { content, _meta }: { content?: unknown; _meta?: object } = row.metadata.mcp;
        expect(result.content).toEqual(content ?? row.output.content);
        expect(result.structuredContent).toEqual(content === undefined ? undefined : row.output);
        expect(result).toMatchObject(_meta === undefined ? {} : { _meta });
        expect(result).not.toHaveProperty("isError");
      });
    }

    for (const row of [
      { name: "no name", params: {} },
      { name: "a name that is no text", params: { name: 1 } },
      { name: "arguments that are a list", params: { name: "notes_read", arguments: [] } },
    ]) {
      test(`with ${row.name} in its call is told that the call is not valid`, async () => {
        const client = await connect(servedWorld());
        const call = client.request({ method: "tools/call", params: row.params as never });
        await expect(call).rejects.toMatchObject({ code: -32_602 });
      });
    }

    for (const row of [
      {
        name: "a denial",
        call: { name: "notes.read", arguments: { note: "c" } },
        text: "denied (no_matching_grant): No grant covers the act. Ask whoever gave you access for this too, or go on without it.",
        error: { status: "denied", code: "no_matching_grant", retryable: false },
      },
      {
        name: "a tool that others have",
        call: { name: "notes.burn", arguments: { note: "a" } },
        text: "denied (tool_unavailable): The caller cannot use this tool. List the tools to see which you can use.",
        error: { status: "denied", code: "tool_unavailable", retryable: false },
      },
      {
        name: "a tool that does not exist",
        call: { name: "__proto__", arguments: {} },
        text: "denied (tool_unavailable): The caller cannot use this tool. List the tools to see which you can use.",
        error: { status: "denied", code: "tool_unavailable", retryable: false },
      },
      {
        name: "arguments that do not fit",
        call: { name: "notes.read", arguments: { page: 1 } },
        text: "failed (invalid_tool_arguments): /note: expected string; /page: expected no such key. Correct the arguments and call again.",
        error: { status: "failed", code: "invalid_tool_arguments" },
      },
    ]) {
      test(`gets ${row.name} as a result that says so, and not as an error of the protocol`, async () => {
        const client = await connect(servedWorld());
        const result = await client.callTool(row.call);
        expect(result).toMatchObject({
          isError: true,
          content: [{ type: "text", text: row.text }],
          _meta: { "turnpike/error": row.error },
        });
        expect(result).not.toHaveProperty("structuredContent");
      });
    }

    test("is told where the escalation is when its call needs a person's approval", async () => {
      const details = { escalationId: "q1", requestHash: "0".repeat(64), expiresAt: now };
      const error = { code: "approval_required", message: "It needs an approval.", retryable: true, details };
      const asking = servedWorld({
        changeApi: (api) => ({
          ...api,
          invokeTool: (_context, { id: callId, tool }) =>
            Promise.resolve({ status: "denied", callId, tool, completedAt: now, error }),
        }),
      });
      const client = await connect(asking);
      const text =
        "denied (approval_required): It needs an approval. A person has been asked (q1). Call again with exactly the same arguments after the approval.";
      expect(await client.callTool({ name: "notes.read", arguments: { note: "a" } })).toMatchObject({
        isError: true,
        content: [{ type: "text", text }],
        _meta: { "turnpike/error": { status: "denied", code: "approval_required", retryable: true, details } },
      });
    });

    test("loses at the next call what was revoked before it", async () => {
      const world = servedWorld();
      const client = await connect(world);
      const call = async (note: string) => (await client.callTool({ name: "notes.read", arguments: { note } })).isError;
      expect(await call("a")).toBeUndefined();
      world.grants.revoke("acme", "a", now);
      expect(await call("a")).toBe(true);
      expect(await call("b")).toBeUndefined();
      world.grants.revoke("acme", "b", now);
      expect((await client.listTools(undefined, { cacheMode: "refresh" })).tools).toEqual([]);
    });

    test("makes a call of its own with each request, in the trace of its context", async () => {
      const world = servedWorld();
      const client = await connect(world);
      for (const _ of [1, 2]) await client.callTool({ name: "notes.read", arguments: { note: "a" } });
      const invoked = world.audit.events.filter(({ type }) => type === "tool.invoked");
      expect(invoked).toMatchObject([{ traceId: "trace-1" }, { traceId: "trace-1" }]);
      expect(new Set(invoked.map(({ operationId }) => operationId)).size).toBe(2);
    });

    for (const token of ["", "stranger"]) {
      test(`with ${token === "" ? "no" : "a bad"} token is not admitted`, async () => {
        await expect(connect(servedWorld(), token)).rejects.toMatchObject({ status: 401 });
      });
    }

    test("without an authority is shown tools and may call none", async () => {
      const client = await connect(servedWorld(), "no-authority");
      expect((await client.listTools()).tools).toMatchObject([{ name: "notes_read" }]);
      expect(await client.callTool({ name: "notes.read", arguments: { note: "a" } })).toMatchObject({
        isError: true,
        _meta: { "turnpike/error": { code: "invalid_context" } },
      });
    });

    test("learns nothing of what failed inside", async () => {
      const broken = servedWorld({
        changeApi: (api) => ({
          ...api,
          listTools: () => Promise.reject(new Error("secret words")),
          invokeTool: () => Promise.reject(new Error("secret words")),
        }),
      });
      const client = await connect(broken);
      const message = "Something failed inside; nothing more is said.";
      await expect(client.listTools()).rejects.toMatchObject({
        code: -32_603,
        message,
        data: { code: "internal_error" },
      });
      expect(await client.callTool({ name: "notes.read", arguments: {} })).toMatchObject({
        isError: true,
        content: [{ type: "text", text: `failed (internal_error): ${message} Try again later.` }],
        _meta: { "turnpike/error": { status: "failed", code: "internal_error" } },
      });
      expect(broken.errors.map(String)).toEqual(["Error: secret words", "Error: secret words"]);
    });
  });
}
