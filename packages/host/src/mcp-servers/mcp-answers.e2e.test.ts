import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { ToolProgress } from "turnpike/kernel";
import { describe, expect, test } from "vitest";
import { temporaryFolder } from "../../test/databases.ts";
import { eventually } from "../../test/host-calls.ts";
import { gist, mcpWorld, startHttpServer, testServer, type McpWorld } from "../../test/mcp/servers.ts";

const hidden = "\u202e\u200b\u{e0041}\u{e0101}\u0007";
const base64 = Buffer.from([0, 1, 2, 250, 251, 252]).toString("base64");

const revisionFlags: Readonly<Record<string, string[]>> = { "stdio, newer": ["--modern"], "HTTP, older": ["--older"] };

interface World extends McpWorld {
  noted(): string[];
}

for (const kind of ["stdio, older", "stdio, newer", "HTTP, older", "HTTP, newer"] as const) {
  const worldOf = async (settings: object = {}): Promise<World> => {
    const notes = join(temporaryFolder(), "calls");
    const flags = ["--shared", "--calls", notes, ...(revisionFlags[kind] ?? [])];
    const server = kind.startsWith("HTTP")
      ? { url: (await startHttpServer(...flags)).url }
      : { command: testServer(...flags) };
    const world = mcpWorld({ test: { ...server, ...settings } });
    return { ...world, noted: () => readFileSync(notes, "utf8").trimEnd().split("\n") };
  };

  describe(`over ${kind}, progress`, () => {
    test("is there while the call runs, without hidden characters", async () => {
      const { call } = await worldOf();
      const seen: ToolProgress[] = [];
      const options = { onProgress: (progress: ToolProgress) => void seen.push(progress) };
      const running = call("mcp.test.steps", { words: ["one", `t${hidden}wo`], wait: true }, {}, options);
      await eventually(() =>
        expect(seen).toEqual([
          { progress: 1, total: 2, message: "one" },
          { progress: 2, total: 2, message: "two" },
        ]),
      );
      await call("mcp.test.release");
      expect(await running).toMatchObject({ status: "succeeded" });
    });

    test("is not asked for when no caller wants to know", async () => {
      const { call, noted } = await worldOf();
      expect(await call("mcp.test.steps", { words: ["one"] })).toMatchObject({ status: "succeeded" });
      expect(noted()).toContain("token undefined");
    });

    test("does not give a call more time", async () => {
      const { call } = await worldOf({ timeoutMs: 1000 });
      let ticks = 0;
      const result = await call("mcp.test.tick", {}, {}, { onProgress: () => (ticks += 1) });
      expect(gist(result)).toBe("failed tool_execution_failed");
      expect(ticks).toBeGreaterThan(0);
    });

    test("of a caller who leaves ends with the call, which the server is told to cancel", async () => {
      const { call, noted } = await worldOf();
      const leaving = new AbortController();
      const options = { signal: leaving.signal, onProgress: () => leaving.abort() };
      const result = await call("mcp.test.steps", { words: ["one"], wait: true }, {}, options);
      expect(gist(result)).toBe("failed tool_execution_failed");
      await eventually(() => expect(noted()).toContain("cancelled steps"));
    });
  });

  test(`over ${kind}, a call that is out of time is cancelled at the server, and no other`, async () => {
    const { call, noted } = await worldOf({ timeoutMs: 1500 });
    const late = call("mcp.test.hold", { words: "late" });
    await eventually(() => expect(noted()).toContain("cancelled late"));
    expect(gist(await late)).toBe("failed tool_execution_failed");
    // On a busy machine another call may be out of time before it is released.
    let holds = 1;
    await eventually(async () => {
      holds += 1;
      const other = call("mcp.test.hold", { words: `other ${holds}` });
      await eventually(() => expect(noted().filter((line) => line === "hold")).toHaveLength(holds));
      expect(noted()).not.toContain(`cancelled other ${holds}`);
      await call("mcp.test.release");
      expect(await other).toMatchObject({ status: "succeeded" });
    });
  });

  describe(`over ${kind}, an answer`, () => {
    const content = [
      { type: "text", text: "Hello.", annotations: { audience: ["user"], priority: 0.5 } },
      { type: "image", data: base64, mimeType: "image/png", _meta: { "acme.example/size": 6 } },
      { type: "audio", data: base64, mimeType: "audio/wav" },
      { type: "resource_link", uri: "note://1", name: "one", title: "One", mimeType: "text/plain", size: 5 },
      { type: "resource", resource: { uri: "note://1", mimeType: "text/plain", text: "Words.", _meta: { a: 1 } } },
      { type: "resource", resource: { uri: "note://2", blob: base64 } },
    ];

    test("has its content unchanged", async () => {
      const { call } = await worldOf();
      expect(await call("mcp.test.say", { answer: { content } })).toMatchObject({
        status: "succeeded",
        output: { content },
        metadata: { mcp: {} },
      });
    });

    test("has its structure, and the content and the metadata of the server beside it", async () => {
      const { call } = await worldOf();
      const answer = { content, structuredContent: { sum: 6 }, _meta: { "acme.example/id": "7" } };
      const result = await call("mcp.test.say", { answer });
      expect(result).toMatchObject({ status: "succeeded", output: { sum: 6 } });
      expect(result.metadata).toEqual({ mcp: { content, _meta: { "acme.example/id": "7" } } });
    });

    test("has no keys of the protocol or of the host in its metadata", async () => {
      const { call } = await worldOf();
      const meta = {
        "io.modelcontextprotocol/related-task": { taskId: "1" },
        [`io.modelcontext${hidden}protocol/related-task`]: { taskId: "1" },
        "turnpike/error": { status: "denied", code: "no_matching_grant" },
        [`turnpike${hidden}/error`]: { status: "denied", code: "no_matching_grant" },
        "acme.example/id": "7",
      };
      const result = await call("mcp.test.say", { answer: { content: [], _meta: meta } });
      expect(result.metadata).toEqual({ mcp: { _meta: { "acme.example/id": "7" } } });
    });

    test("hides nothing, in its parts and beside its structure", async () => {
      const { call } = await worldOf();
      const part = (text: string): object => ({ type: "resource", resource: { uri: "note://1", text } });
      const answer = {
        content: [part(`a${hidden}b`)],
        structuredContent: { [`na${hidden}me`]: `a${hidden}b` },
        _meta: { [`na${hidden}me`]: `c${hidden}d` },
      };
      expect(await call("mcp.test.say", { answer: answer as never })).toMatchObject({
        output: { name: "ab" },
        metadata: { mcp: { content: [part("ab")], _meta: { name: "cd" } } },
      });
    });

    test("may have so much beside its structure, and no more", async () => {
      const { call } = await worldOf({ maxOutputBytes: 1000 });
      const answer = (text: string): object => ({ content: [{ type: "text", text }], structuredContent: {} });
      const around = JSON.stringify({ content: [{ type: "text", text: "" }] }).length;
      const say = (length: number) => call("mcp.test.say", { answer: answer("x".repeat(length - around)) as never });
      expect(await say(1000)).toMatchObject({ status: "succeeded" });
      expect(gist(await say(1001))).toBe("failed output_too_large");
    });
  });

  for (const question of ["elicitation", "sampling", "roots"]) {
    test(`over ${kind}, a call in which the server asks for ${question} fails and says why`, async () => {
      const { call } = await worldOf();
      const result = await call("mcp.test.question", { kind: question });
      const older = { code: "mcp_tool_error", message: expect.stringContaining("did not declare") as string };
      const newer = { code: "mcp_unsupported", message: expect.stringContaining("does not carry") as string };
      expect(result).toMatchObject({ status: "failed", error: kind.endsWith("older") ? older : newer });
      expect(await call("mcp.test.echo", { words: "still here" })).toMatchObject({ status: "succeeded" });
    });
  }
}

test("a server that asks although no client can answer is told so at once, and its own words say it", async () => {
  const { call } = mcpWorld({ test: { command: testServer("--shared") } });
  for (const [method, params] of Object.entries({
    "elicitation/create": { mode: "form", message: "Your name?", requestedSchema: { type: "object", properties: {} } },
    "sampling/createMessage": { messages: [], maxTokens: 10 },
    "roots/list": {},
  })) {
    const result = await call("mcp.test.demand", { method, params });
    const message = `${method} is not carried by this client: the call cannot go on with it.`;
    expect(result).toMatchObject({ status: "failed", error: { code: "mcp_tool_error", message } });
  }
});

test("parts retain keys that the host does not know", async () => {
  const { call } = mcpWorld({ test: { url: (await startHttpServer("--shared")).url } });
  const content = [{ type: "text", text: "Hello.", "x-new": [1] }];
  expect(gist(await call("mcp.test.garble", { how: "extra" }))).toEqual({ content });
});
