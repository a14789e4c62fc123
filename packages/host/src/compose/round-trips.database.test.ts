import { describe, expect, test } from "vitest";
import { defineTool } from "turnpike/kernel";
import type { RuntimePlugin } from "turnpike/runtime";
import { z } from "zod";
import { databaseKinds, migratedLocation, openHost } from "../../test/databases.ts";
import { testServer } from "../../test/mcp/servers.ts";
import { alice, assistant } from "../../test/records.ts";
import { countRoundTrips } from "../../test/round-trips.ts";
import { grantOver, openTenant, openWiredHost } from "../../test/wired-host.ts";

/** How many round trips came before an effect, and after it. */
interface Trips {
  before: number;
  after: number;
}

const at = "2026-01-01T12:00:00Z";
const namespaces = ["files", "notes", "mcp.test", "service.execution", "service.messaging"];

/** A host on a PostgreSQL whose round trips are counted, and the requests that are counted here. */
async function openCountedHost() {
  const trips = await countRoundTrips(await migratedLocation("postgres"));
  let effectAt = 0;
  const noteIn = (namespace: string) =>
    defineTool({
      name: `${namespace}.note`,
      description: "Has an effect that is not in the database.",
      namespace,
      readWrite: "write",
      input: z.strictObject({}),
      output: z.strictObject({}),
      requires: { action: "note", resource: { namespace, path: [] } },
      run() {
        effectAt = trips.count();
        return {};
      },
    });
  const tools = ["notes", "bounded"].map(noteIn);
  const split = async (act: () => Promise<unknown>): Promise<Trips> => {
    const from = trips.count();
    await act();
    return { before: effectAt - from, after: trips.count() - effectAt };
  };
  const ofCalls: Trips[] = [];
  const runtime: RuntimePlugin = {
    manifest: { id: "counting", version: "1" },
    async run({ message: { traceId } }, host) {
      ofCalls.length = 0;
      for (const id of ["one", "two", "three"]) {
        const call = { id, tool: "notes.note", arguments: {}, requestedAt: at, traceId };
        ofCalls.push(await split(() => host.invokeTool(call)));
      }
      return { type: "complete", output: null };
    },
  };
  const servers = { test: { command: testServer() } };
  const { stores, post } = await openWiredHost(await openHost(trips.location), { runtime, tools, servers });
  const { token } = await openTenant(stores, "acme", namespaces);
  const issueBounded = async (): Promise<void> => {
    await stores.grants.issue({ ...grantOver("few", "acme", ["bounded"]), constraints: { maxUses: 100 } });
    await stores.settings.change({ namespaceId: "acme", actor: assistant }, { enable: ["bounded"] });
  };
  await stores.files.create({ namespaceId: "acme", owner: alice }, ["a"], "content");
  let ids = 0;
  const newId = (): string => `id-${(ids += 1)}`;
  const byMcp = async (): Promise<void> => {
    const params = { name: "notes.note", arguments: {} };
    const headers = { accept: "application/json, text/event-stream", "content-type": "application/json" };
    const call = { jsonrpc: "2.0", id: newId(), method: "tools/call", params };
    const { body } = await post(token, "/mcp", call, { headers });
    expect(body).toMatchObject({ result: { structuredContent: {} } });
  };
  const send = async (path: string, body: object): Promise<void> => {
    const { status, body: answer } = await post(token, path, body);
    const isGood = answer["allowed"] === true || ["succeeded", "accepted"].includes(String(answer["status"]));
    if (!isGood) throw new Error(`${path} answers ${status} ${JSON.stringify(answer)}`);
  };
  const authorize = () => send("/v1/authorize", { action: "read", resource: { namespace: "files", path: ["a"] } });
  const invoke = (tool: string, args: object) =>
    send("/v1/tools/invoke", { id: newId(), tool, arguments: args, requestedAt: at, traceId: "trace-1" });
  const read = () => {
    const resource = { namespace: "files", path: ["a"] };
    return send("/v1/resources/invoke", { operationId: newId(), action: "read", resource, input: {} });
  };
  const message = (sender: object, receiver: object) => {
    const own = { id: newId(), createdAt: at, traceId: "trace-1", purpose: "support" };
    return { version: 1, ...own, sender, receiver, payload: "hello" };
  };
  const turn = () =>
    send("/v1/turns", { version: 1, executionId: newId(), agent: assistant, message: message(alice, assistant) });
  return {
    async countWarm(act: () => Promise<unknown>): Promise<number> {
      for (let time = 0; time < 3; time += 1) await act();
      const from = trips.count();
      await act();
      return trips.count() - from;
    },
    split,
    ofCalls,
    issueBounded,
    acts: { authorize, invoke, byMcp, read, turn, send: () => send("/v1/messages", message(assistant, alice)) },
  };
}

describe.runIf(databaseKinds.includes("postgres"))("round trips to PostgreSQL", () => {
  test("a lone warm call makes one before its effect and one after it, and so many in all", async () => {
    const { countWarm, split, ofCalls, issueBounded, acts } = await openCountedHost();
    const note = () => acts.invoke("notes.note", {});
    await note();
    expect(await split(note)).toEqual({ before: 1, after: 1 });
    expect({
      authorize: await countWarm(acts.authorize),
      "a tool without a database": await countWarm(note),
      "a tool, called by MCP": await countWarm(acts.byMcp),
      "a tool of an MCP server": await countWarm(() => acts.invoke("mcp.test.echo", { words: "hello" })),
      "files.read": await countWarm(() => acts.invoke("files.read", { path: "a" })),
      "files.replace": await countWarm(() => acts.invoke("files.replace", { path: "a", content: "other" })),
      "a resource operation": await countWarm(acts.read),
      "a message": await countWarm(acts.send),
    }).toEqual({
      authorize: 1,
      "a tool without a database": 2,
      "a tool, called by MCP": 3,
      "a tool of an MCP server": 2,
      "files.read": 3,
      "files.replace": 4,
      "a resource operation": 3,
      "a message": 3,
    });
    expect(await countWarm(acts.turn)).toBe(13);
    expect(ofCalls.at(-1)).toEqual({ before: 1, after: 1 });

    await issueBounded();
    const bounded = () => acts.invoke("bounded.note", {});
    expect(await countWarm(bounded)).toBe(2);
    expect(await split(bounded)).toEqual({ before: 1, after: 1 });
  });
});
