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
      expect(await names("assistant")).toEqual(["notes.read"]);
      expect(await names("alice")).toEqual(["notes.burn", "notes.read"]);
      const shown = await world.api.listTools(contextOf({ enabledToolNamespaces: ["notes"] }));
      expect(await names("assistant")).toEqual(shown.map(({ name }) => name));
    });

    test("sees what a tool takes, gives and does", async () => {
      const client = await connect(servedWorld(), "alice");
      const note = { type: "string" };
      expect((await client.listTools()).tools).toEqual([
        {
          name: "notes.burn",
          description: "Can burn a note.",
          inputSchema: { type: "object", properties: { note }, required: ["note"], additionalProperties: false },
          outputSchema: {
            type: "object",
            properties: { note, by: note },
            required: ["note", "by"],
            additionalProperties: false,
          },
          annotations: { readOnlyHint: false },
        },
        expect.objectContaining({ name: "notes.read", annotations: { readOnlyHint: true } }),
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

    for (const row of [
      {
        name: "a denial",
        call: { name: "notes.read", arguments: { note: "c" } },
        text: "denied (no_matching_grant): No grant covers the act.",
        error: { code: "no_matching_grant", message: "No grant covers the act.", retryable: false },
      },
      {
        name: "a tool that others have",
        call: { name: "notes.burn", arguments: { note: "a" } },
        text: "denied (tool_unavailable): The caller cannot use this tool.",
        error: { code: "tool_unavailable", message: "The caller cannot use this tool.", retryable: false },
      },
      {
        name: "a tool that nobody has",
        call: { name: "__proto__", arguments: {} },
        text: "denied (tool_unavailable): The caller cannot use this tool.",
        error: { code: "tool_unavailable", message: "The caller cannot use this tool.", retryable: false },
      },
      {
        name: "arguments that do not fit",
        call: { name: "notes.read", arguments: { page: 1 } },
        text: "failed (invalid_tool_arguments): /note: expected string; /page: expected no such key",
        error: { code: "invalid_tool_arguments", message: "/note: expected string; /page: expected no such key" },
      },
    ]) {
      test(`gets ${row.name} as a result that says so, and not as an error of the protocol`, async () => {
        const client = await connect(servedWorld());
        const status = row.text.startsWith("denied") ? "denied" : "failed";
        expect(await client.callTool(row.call)).toMatchObject({
          isError: true,
          content: [{ type: "text", text: row.text }],
          structuredContent: { status, error: row.error },
        });
      });
    }

    test("is told where the question is when its call needs a person's yes", async () => {
      const details = { escalationId: "q1", requestHash: "0".repeat(64), expiresAt: now };
      const error = { code: "approval_required", message: "It needs a yes.", retryable: true, details };
      const asking = servedWorld({
        changeApi: (api) => ({
          ...api,
          invokeTool: (_context, { id: callId, tool }) =>
            Promise.resolve({ status: "denied", callId, tool, completedAt: now, error }),
        }),
      });
      const client = await connect(asking);
      const text =
        "denied (approval_required): It needs a yes. A person has been asked (q1). Call again with exactly the same arguments after the yes.";
      expect(await client.callTool({ name: "notes.read", arguments: { note: "a" } })).toMatchObject({
        isError: true,
        content: [{ type: "text", text }],
        structuredContent: { status: "denied", error },
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
      test(`with ${token === "" ? "no" : "a bad"} token is not let in`, async () => {
        await expect(connect(servedWorld(), token)).rejects.toMatchObject({ status: 401 });
      });
    }

    test("without an authority is shown tools and may call none", async () => {
      const client = await connect(servedWorld(), "no-authority");
      expect((await client.listTools()).tools).toMatchObject([{ name: "notes.read" }]);
      expect(await client.callTool({ name: "notes.read", arguments: { note: "a" } })).toMatchObject({
        isError: true,
        structuredContent: { error: { code: "invalid_context" } },
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
        structuredContent: { status: "failed", error: { code: "internal_error", message } },
      });
      expect(broken.errors.map(String)).toEqual(["Error: secret words", "Error: secret words"]);
    });
  });
}
