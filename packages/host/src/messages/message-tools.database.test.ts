import { describe, expect, test } from "vitest";
import type { AccessContext, Capability, Grant, JsonObject, PrincipalRef, ToolResult } from "turnpike/contracts";
import { createKernel, type Kernel, type PortFailure } from "turnpike/kernel";
import { memoryAudit, memoryGrants, memoryUsage, type MemoryAudit } from "turnpike/testing";
import { databaseKinds, newTenant, openFresh, sharedDatabase } from "../../test/databases.ts";
import { alice, assistant, context, now } from "../../test/records.ts";
import { createMessageStore, type MessageStore } from "./message-store.ts";
import { messageTools } from "./message-tools.ts";

const bob: PrincipalRef = { kind: "human", userId: "bob" };

function capability(action: string, path: string[], scope: Capability["scope"] = "exact"): Capability {
  return { resource: { namespace: "service.messaging", path }, actions: [action], scope };
}

/** A deployment in which every principal holds the same capabilities, issued by Alice. */
interface World {
  store: MessageStore;
  audit: MemoryAudit;
  failures: PortFailure[];
  call(tool: string, args: JsonObject, changes?: Partial<AccessContext> & { callId?: string }): Promise<ToolResult>;
}

const everything = [capability("send", [], "descendants"), capability("receive", [], "descendants")];

function worldOf(
  store: MessageStore,
  namespaceId: string,
  capabilities: Capability[] = everything,
  who: readonly PrincipalRef[] = [assistant, alice, bob],
): World {
  const grants = who.map((subject, place): Grant => ({
    id: `grant-${place}`,
    namespaceId,
    subject,
    issuer: alice,
    capabilities,
    constraints: {},
    issuedAt: "2026-01-01T10:00:00Z",
  }));
  const audit = memoryAudit();
  const failures: PortFailure[] = [];
  const kernel: Kernel = createKernel({
    grants: memoryGrants(grants),
    usage: memoryUsage(),
    tools: messageTools(store),
    audit,
    onPortError: (_error, failure) => void failures.push(failure),
  });
  let calls = 0;
  return {
    store,
    audit,
    failures,
    call(tool, args, { callId = `call-${(calls += 1)}`, ...changes } = {}) {
      const asked = context({ namespaceId, enabledToolNamespaces: ["messages"], ...changes });
      const { traceId } = asked;
      return kernel.invokeTool(asked, { id: callId, tool, arguments: args, requestedAt: now, traceId });
    },
  };
}

function outputOf(result: ToolResult): JsonObject {
  expect(result).toMatchObject({ status: "succeeded" });
  return result.status === "succeeded" ? (result.output as JsonObject) : {};
}

interface Page {
  messages: { id: string; payload: unknown; replyTo?: string; acknowledged: boolean }[];
  cursor: string;
  unknown: string[];
}

async function read(world: World, args: JsonObject = {}, actor: PrincipalRef = alice): Promise<Page> {
  return outputOf(await world.call("messages.inbox", args, { actor })) as unknown as Page;
}

async function send(world: World, args: JsonObject = {}, actor: PrincipalRef = assistant): Promise<string> {
  const { messageId } = outputOf(
    await world.call("messages.send", { to: "human:alice", payload: "hello", ...args }, { actor }),
  );
  return String(messageId);
}

describe.each(databaseKinds)("message tools on %s", (kind) => {
  const open = sharedDatabase(kind);
  const newWorld = async (capabilities?: Capability[]): Promise<World> =>
    worldOf(createMessageStore(await open()), newTenant(), capabilities);

  test("what is sent is in the receiver's inbox, as from the actor, for the purpose and in the trace of the call", async () => {
    const world = await newWorld();
    const sent = await world.call("messages.send", { to: "human:alice", payload: { text: "ä\0", list: [1, null] } });
    const { messageId } = outputOf(sent);
    expect(outputOf(sent)).toEqual({ messageId: expect.stringMatching(/^[0-9a-f]{64}$/), status: "accepted" });
    expect(await read(world)).toEqual({
      messages: [
        {
          id: messageId,
          createdAt: "2026-01-01T12:00:00Z",
          traceId: "trace-1",
          purpose: "support",
          sender: { kind: "agent", agentId: "assistant" },
          payload: { text: "ä\0", list: [1, null] },
          receivedAt: "2026-01-01T12:00:00Z",
          acknowledged: false,
        },
      ],
      cursor: expect.stringMatching(/^1-[0-9a-f]{16}$/),
      unknown: [],
    });
  });

  for (const [key, value] of Object.entries({ sender: "human:bob", purpose: "billing", traceId: "x", id: "mine" })) {
    test(`an argument ${key} is refused: it comes from the context`, async () => {
      const world = await newWorld();
      const result = await world.call("messages.send", { to: "human:alice", payload: 1, [key]: value });
      expect(result).toMatchObject({ status: "failed", error: { code: "invalid_tool_arguments" } });
      expect((await read(world)).messages).toEqual([]);
    });
  }

  for (const to of ["alice", "robot:alice", "human:", "human:a/b", "human:a\\b", "human:a\0b", "human:..", ""]) {
    test(`a message to ${JSON.stringify(to)} is refused before anything is decided`, async () => {
      const world = await newWorld();
      const result = await world.call("messages.send", { to, payload: "hello" });
      expect(result).toMatchObject({
        status: "failed",
        error: {
          code: "invalid_tool_arguments",
          message: "/to: expected kind:id, the id without slash, backslash or control character",
        },
      });
      expect(world.audit.events.map(({ type }) => type)).toEqual(["tool.invoked"]);
      expect(world.failures).toEqual([]);
    });
  }

  test("a call that is repeated is one message, and another call is another one", async () => {
    const world = await newWorld();
    const again = { callId: "same", now: "2026-01-01T12:10:00Z" };
    const ids: unknown[] = [];
    for (const changes of [{ callId: "same" }, again, { callId: "other" }, { callId: "same", traceId: "trace-2" }]) {
      const result = await world.call("messages.send", { to: "human:alice", payload: 1 }, changes);
      ids.push(outputOf(result)["messageId"]);
    }
    expect(new Set(ids).size).toBe(3);
    expect(ids[0]).toBe(ids[1]);
    expect((await read(world)).messages.map(({ id }) => id)).toEqual([ids[0], ids[2], ids[3]]);
  });

  test("a call within an execution, one of the trace of that name and one of another actor are three messages", async () => {
    const world = await newWorld();
    const args = { to: "human:alice", payload: 1 };
    const contexts: Partial<AccessContext>[] = [
      { traceId: "trace-1", executionId: "trace-9" },
      { traceId: "trace-9" },
      { traceId: "trace-9", actor: bob },
    ];
    const results = await Promise.all(
      contexts.map((changes) => world.call("messages.send", args, { callId: "same", ...changes })),
    );
    expect(new Set(results.map((result) => outputOf(result)["messageId"])).size).toBe(3);
    expect((await read(world)).messages).toHaveLength(3);
  });

  test("a call id that was used for another message is refused, and the first message stays", async () => {
    const world = await newWorld();
    await world.call("messages.send", { to: "human:alice", payload: "first" }, { callId: "same" });
    const second = await world.call("messages.send", { to: "human:alice", payload: "second" }, { callId: "same" });
    expect(second).toMatchObject({
      status: "failed",
      error: { code: "invalid_request", message: "This id was used for another message.", retryable: false },
    });
    expect((await read(world)).messages.map(({ payload }) => payload)).toEqual(["first"]);
  });

  test("a full inbox refuses what is sent", async () => {
    const store = createMessageStore(await open(), { maxUnacknowledged: 1 });
    const world = worldOf(store, newTenant());
    await send(world);
    expect(await world.call("messages.send", { to: "human:alice", payload: "more" })).toMatchObject({
      status: "failed",
      error: { code: "quota_exceeded", message: "The receiver's inbox is full.", retryable: false },
    });
  });

  test("an inbox takes no more of one sender than their share", async () => {
    const world = worldOf(createMessageStore(await open(), { maxUnacknowledged: 10 }), newTenant());
    await send(world);
    expect(await world.call("messages.send", { to: "human:alice", payload: "more" })).toMatchObject({
      status: "failed",
      error: {
        code: "quota_exceeded",
        message:
          "The receiver's inbox has as many of your messages as one sender may leave there: wait until some are acknowledged.",
        retryable: false,
      },
    });
  });

  for (const row of [
    { name: "one's own message", to: "human:bob", from: assistant, replies: assistant, ok: true },
    { name: "a message one received", to: "human:bob", from: assistant, replies: bob, ok: true },
    { name: "a message between others", to: "human:bob", from: assistant, replies: alice, ok: false },
  ]) {
    test(`a reply to ${row.name} is ${row.ok ? "sent" : "not_found"}`, async () => {
      const world = await newWorld();
      const replyTo = await send(world, { to: row.to }, row.from);
      const reply = { to: "human:alice", payload: "re", replyTo };
      const result = await world.call("messages.send", reply, { actor: row.replies });
      expect(result).toMatchObject(
        row.ok ? { status: "succeeded" } : { status: "failed", error: { code: "not_found" } },
      );
      const { messages } = await read(world);
      expect(messages.map((message) => message.replyTo)).toEqual(row.ok ? [replyTo] : []);
    });
  }

  test("a reply to nothing, to others and to another tenant's message cannot be told apart", async () => {
    const world = await newWorld();
    const elsewhere = await newWorld();
    const ids = ["nothing", await send(world, { to: "human:bob" }), await send(elsewhere, {}, alice)];
    const reply = (replyTo: string) => ({ to: "human:bob", payload: "re", replyTo });
    const results = await Promise.all(ids.map((id) => world.call("messages.send", reply(id), { actor: alice })));
    const errors = results.map((result) => (result.status === "failed" ? result.error : result));
    for (const error of errors) {
      expect(error).toEqual({ code: "not_found", message: "You neither received nor sent a message of this id." });
    }
  });

  test("an inbox is read a page at a time, and the cursor stays where there is nothing more", async () => {
    const world = await newWorld();
    for (const payload of ["a", "b", "c"]) await send(world, { payload });
    const first = await read(world, { limit: 2 });
    expect(first.messages.map(({ payload }) => payload)).toEqual(["a", "b"]);
    const second = await read(world, { limit: 2, after: first.cursor });
    expect(second.messages.map(({ payload }) => payload)).toEqual(["c"]);
    const third = await read(world, { after: second.cursor });
    expect(third).toEqual({ messages: [], cursor: second.cursor, unknown: [] });
    await send(world, { payload: "d" });
    const fourth = await read(world, { after: third.cursor });
    expect(fourth.messages.map(({ payload }) => payload)).toEqual(["d"]);
  });

  test("twenty messages are read at once unless another limit is given", async () => {
    const world = await newWorld();
    for (let place = 0; place < 21; place += 1) await send(world, { payload: place });
    expect((await read(world)).messages).toHaveLength(20);
    expect((await read(world, { limit: 100 })).messages).toHaveLength(21);
  });

  test("messages are acknowledged before the inbox is read, and unknown ids are named", async () => {
    const world = await newWorld();
    const [one, two] = [await send(world, { payload: 1 }), await send(world, { payload: 2 })];
    const page = await read(world, { acknowledge: [one, "unknown"] });
    expect(page.messages.map(({ id }) => id)).toEqual([two]);
    expect(page.unknown).toEqual(["unknown"]);
    expect(await read(world, { acknowledge: [one] })).toMatchObject({ unknown: [] });
    const all = await read(world, { includeAcknowledged: true });
    expect(all.messages.map(({ id, acknowledged }) => [id, acknowledged])).toEqual([
      [one, true],
      [two, false],
    ]);
  });

  test("no actor acknowledges or reads what is in another's inbox", async () => {
    const world = await newWorld();
    const id = await send(world);
    for (const actor of [bob, assistant]) {
      const page = await read(world, { acknowledge: [id], includeAcknowledged: true }, actor);
      expect(page).toMatchObject({ messages: [], unknown: [id] });
    }
    expect((await read(world)).messages.map(({ acknowledged }) => acknowledged)).toEqual([false]);
  });

  test("the same receiver in another tenant has another inbox", async () => {
    const world = await newWorld();
    const elsewhere = await newWorld();
    const id = await send(world);
    expect(await read(elsewhere, { acknowledge: [id], includeAcknowledged: true })).toMatchObject({
      messages: [],
      unknown: [id],
    });
  });

  test("a cursor that is none, or another's, is invalid_cursor, and nothing is acknowledged", async () => {
    const world = await newWorld();
    const id = await send(world);
    const bobs = await read(world, {}, bob);
    for (const after of ["", "1", "x".repeat(10_000), bobs.cursor]) {
      const result = await world.call("messages.inbox", { after, acknowledge: [id] }, { actor: alice });
      expect(result).toMatchObject({ status: "failed", error: { code: "invalid_cursor" } });
    }
    expect((await read(world)).messages).toHaveLength(1);
  });

  for (const args of [
    { limit: 0 },
    { limit: 101 },
    { limit: 1.5 },
    { receiver: "human:alice" },
    { acknowledge: Array.from({ length: 101 }, () => "a") },
    { acknowledge: [""] },
  ] as JsonObject[]) {
    test(`an inbox is not read with ${JSON.stringify(args).slice(0, 40)}`, async () => {
      const world = await newWorld();
      expect(await world.call("messages.inbox", args)).toMatchObject({
        status: "failed",
        error: { code: "invalid_tool_arguments" },
      });
    });
  }
});

const sends = { tool: "messages.send", args: { to: "human:bob", payload: "hello" } };
const reads = { tool: "messages.inbox", args: {} };

for (const row of [
  { name: "sending to Bob", ...sends, granted: capability("send", ["human", "bob"]), code: undefined },
  { name: "sending to any human", ...sends, granted: capability("send", ["human"], "descendants"), code: undefined },
  { name: "sending to Alice", ...sends, granted: capability("send", ["human", "alice"]), code: "no_matching_grant" },
  {
    name: "sending to an agent named bob",
    ...sends,
    granted: capability("send", ["agent", "bob"]),
    code: "no_matching_grant",
  },
  {
    name: "sending to humans, and to none of them",
    ...sends,
    granted: capability("send", ["human"]),
    code: "no_matching_grant",
  },
  {
    name: "receiving as Bob",
    ...sends,
    granted: capability("receive", ["human", "bob"]),
    code: "tool_unavailable",
  },
  {
    name: "receiving as the assistant",
    ...reads,
    granted: capability("receive", ["agent", "assistant"]),
    code: undefined,
  },
  {
    name: "receiving as any agent",
    ...reads,
    granted: capability("receive", ["agent"], "descendants"),
    code: undefined,
  },
  {
    name: "receiving as another agent",
    ...reads,
    granted: capability("receive", ["agent", "other"]),
    code: "no_matching_grant",
  },
  {
    name: "receiving as a human named assistant",
    ...reads,
    granted: capability("receive", ["human", "assistant"]),
    code: "no_matching_grant",
  },
  {
    name: "sending to the assistant",
    ...reads,
    granted: capability("send", ["agent", "assistant"]),
    code: "tool_unavailable",
  },
]) {
  test(`with a grant for ${row.name}, ${row.tool} is ${row.code ?? "allowed"}`, async () => {
    const store = createMessageStore(await openFresh("sqlite"));
    const result = await worldOf(store, "tenant-1", [row.granted], [assistant]).call(row.tool, row.args);
    expect(result).toMatchObject(
      row.code === undefined ? { status: "succeeded" } : { status: "denied", error: { code: row.code } },
    );
    expect(await store.countUnacknowledged()).toBe(row.code === undefined && row.tool === "messages.send" ? 1 : 0);
  });
}

test("an actor whose id is no path segment cannot be granted an inbox, however much is granted", async () => {
  const actor: PrincipalRef = { kind: "agent", agentId: "a/b" };
  const store = createMessageStore(await openFresh("sqlite"));
  const result = await worldOf(store, "tenant-1", everything, [actor]).call("messages.inbox", {}, { actor });
  expect(result).toMatchObject({ status: "failed", error: { code: "invalid_tool_requirement" } });
});

test("no tool is there while the namespace is off", async () => {
  const world = worldOf(createMessageStore(await openFresh("sqlite")), "tenant-1");
  for (const { tool, args } of [sends, reads]) {
    const result = await world.call(tool, args, { enabledToolNamespaces: [] });
    expect(result).toMatchObject({ status: "denied", error: { code: "tool_unavailable" } });
  }
});

test("a payload never enters the audit log", async () => {
  const world = worldOf(createMessageStore(await openFresh("sqlite")), "tenant-1");
  await send(world, { payload: "a secret" });
  await read(world);
  expect(world.audit.events.length).toBeGreaterThan(3);
  expect(JSON.stringify(world.audit.events)).not.toContain("a secret");
});

test("a store that fails is a failed call, in no words of its own", async () => {
  const database = await openFresh("sqlite");
  const world = worldOf(createMessageStore(database), "tenant-1");
  await database.close();
  for (const { tool, args } of [sends, reads]) {
    const result = await world.call(tool, args);
    expect(result).toMatchObject({ status: "failed", error: { code: "tool_execution_failed" } });
  }
});

test("the tools describe themselves as what they are", () => {
  const tools = messageTools({} as MessageStore).map(({ descriptor }) => descriptor);
  expect(tools.map(({ name, namespace, readWrite, annotations }) => [name, namespace, readWrite, annotations])).toEqual(
    [
      ["messages.send", "messages", "write", undefined],
      ["messages.inbox", "messages", "write", { idempotent: true }],
    ],
  );
  expect(tools.map(({ requiredCapability }) => requiredCapability)).toEqual([
    { action: "send", resource: { namespace: "service.messaging", path: [] } },
    { action: "receive", resource: { namespace: "service.messaging", path: [] } },
  ]);
  expect(tools[0]?.inputSchema).toMatchObject({ required: ["to", "payload"], additionalProperties: false });
});
