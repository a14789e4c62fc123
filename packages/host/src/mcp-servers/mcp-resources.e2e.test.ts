import { existsSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type { AccessContext, JsonObject, ResourceResult } from "turnpike/contracts";
import { describe, expect, test } from "vitest";
import { temporaryFolder } from "../../test/databases.ts";
import { eventually } from "../../test/host-calls.ts";
import {
  capability,
  contextOf,
  grantOf,
  mcpWorld,
  startHttpServer,
  testServer,
  type McpWorld,
} from "../../test/mcp/servers.ts";
import { offerSegment, type ServerOffer } from "./server-offer.ts";

interface World extends McpWorld {
  noted(): string[];
  act(action: string, path: string[], options?: ActOptions): Promise<ResourceResult>;
  read(uri: string, options?: ActOptions): Promise<ResourceResult>;
  use(name: string, args: JsonObject): Promise<ResourceResult>;
  offers(changes?: Partial<AccessContext>): Promise<readonly ServerOffer[]>;
}

interface ActOptions {
  changes?: Partial<AccessContext>;
  input?: JsonObject;
  signal?: AbortSignal;
}

const everything = [grantOf("all", [capability("mcp.test", ["call", "read", "use"])])];

function worldOf(server: object, notes: string, held = everything): World {
  const world = mcpWorld({ test: server }, { held });
  let operations = 0;
  const act: World["act"] = (action, path, { changes, input, signal } = {}) => {
    operations += 1;
    const resource = { namespace: "mcp.test", path };
    const operation = { operationId: `operation-${operations}`, action, resource, ...(input && { input }) };
    return world.kernel.invokeResource(contextOf(changes), operation, signal && { signal });
  };
  return {
    ...world,
    act,
    read: (uri, options) => act("read", ["resources", offerSegment(uri) ?? ""], options),
    use: (name, args) => act("use", ["prompts", offerSegment(name) ?? ""], { input: { arguments: args } }),
    offers: (changes) => world.pool.offers(contextOf(changes), new AbortController().signal),
    noted: () => (existsSync(notes) ? readFileSync(notes, "utf8").trimEnd().split("\n") : []),
  };
}

async function startWorld(kind: "stdio" | "HTTP", settings: object = {}, held = everything): Promise<World> {
  const notes = join(temporaryFolder(), "calls");
  const flags = ["--shared", "--offers", "--calls", notes];
  const server = kind === "stdio" ? { command: testServer(...flags) } : { url: (await startHttpServer(...flags)).url };
  return worldOf({ ...server, ...settings }, notes, held);
}

const summary = (result: ResourceResult): unknown =>
  result.status === "succeeded" ? result.output : `${result.status} ${result.error.code}`;

for (const kind of ["stdio", "HTTP"] as const) {
  describe(`over ${kind}`, () => {
    test("what a server has besides tools is listed without hidden characters, and what cannot be is named", async () => {
      const { offers, logged } = await startWorld(kind);
      const [offer] = await offers();
      expect(offer).toMatchObject({ server: "test", namespace: "mcp.test" });
      expect(offer?.resources.slice(0, 2)).toEqual([
        { uri: "note://1", name: "one", title: "One", description: "The first.", mimeType: "text/plain" },
        { uri: "note://image", name: "image", mimeType: "image/png", annotations: { priority: 1 } },
      ]);
      const uris = ["note://1", "note://image", "note://broken", "note://gone", "note://hang"];
      expect(offer?.resources.map(({ uri }) => uri)).toEqual(uris);
      expect(offer?.resourceTemplates).toEqual([
        { uriTemplate: "page://{book}/{page}", name: "page", description: "A page." },
      ]);
      expect(offer?.prompts).toEqual([
        {
          name: "greet",
          description: "Greets.",
          arguments: [{ name: "who", description: "Whom.", required: true }],
        },
      ]);
      const lists = logged.map(({ facts: { list, leftOut } }) => [list, leftOut]);
      expect(Object.fromEntries(lists)).toEqual({
        resources: [
          { name: "note://1", why: "it is listed twice" },
          { name: "note://2", why: "its uri has hidden characters" },
          { name: `note://${"x".repeat(249)}`, why: "its uri is too long to be a step of a path" },
          { name: "note://large", why: "it is larger than 16384 characters" },
        ],
        resourceTemplates: [{ name: "page://{+path}", why: "its uriTemplate has hidden characters" }],
        prompts: [
          { name: "greet", why: "its name has hidden characters" },
          { name: "trap", why: "it does not have what the protocol says" },
        ],
      });
    });

    test("a resource is read as it was said, a text without hidden characters and base64 as it is", async () => {
      const { read } = await startWorld(kind);
      expect(summary(await read("note://1"))).toEqual({
        contents: [{ uri: "note://1", mimeType: "text/plain", text: "Words.", _meta: { a: 1 } }],
      });
      expect(summary(await read("note://image"))).toEqual({
        contents: [{ uri: "note://image", mimeType: "image/png", blob: "AAEC+vv8" }],
      });
      expect(summary(await read("page://one/two"))).toEqual({
        contents: [{ uri: "page://one/two", text: "This is page://one/two." }],
      });
    });

    test("a prompt is filled in", async () => {
      const { use } = await startWorld(kind);
      expect(summary(await use("greet", { who: "Alice" }))).toEqual({
        description: "A greeting.",
        messages: [{ role: "user", content: { type: "text", text: "Hello, Alice!" } }],
      });
      expect(await use("greet", {})).toMatchObject({
        status: "failed",
        error: { code: "mcp_server_error", message: "Whom?" },
      });
      expect(summary(await use("greet", { who: 5 }))).toBe("failed invalid_request");
      expect(summary(await use("farewell", {}))).toBe("failed not_found");
    });

    test("a server's refusal has its words, and what it does not find is not found", async () => {
      const { read } = await startWorld(kind);
      expect(await read("note://broken")).toMatchObject({
        status: "failed",
        error: { code: "mcp_server_error", message: "Out of paper." },
      });
      expect(await read("note://gone")).toMatchObject({
        status: "failed",
        error: { code: "not_found", message: "It is gone." },
      });
    });

    test("a server is never asked for what it neither listed nor has a template for", async () => {
      const { read, act, noted } = await startWorld(kind);
      for (const uri of ["note://2", "note://1/..", "page://one/two/three", "file:///etc/passwd", "note://\u202e2"]) {
        expect(summary(await read(uri))).toBe("failed not_found");
      }
      for (const [action, path] of [
        ["read", ["resources"]],
        ["read", ["resources", "note%3A%2F%2F1", "more"]],
        ["read", ["resources", "note://1".replaceAll("/", "%2f")]],
        ["read", ["prompts", "greet"]],
        ["use", ["resources", "note%3A%2F%2F1"]],
        ["use", ["others", "greet"]],
      ] as const) {
        expect(summary(await act(action, [...path]))).toBe("failed not_found");
      }
      expect(noted().filter((line) => /^(read|use)/.test(line))).toEqual([]);
    });

    test("a reader who leaves cancels their own reading", async () => {
      const { read, noted } = await startWorld(kind);
      const leaving = new AbortController();
      const reading = read("note://hang", { signal: leaving.signal });
      await eventually(() => expect(noted()).toContain("read note://hang"));
      leaving.abort();
      expect(summary(await reading)).toBe("failed resource_execution_failed");
      await eventually(() => expect(noted()).toContain("cancelled note://hang"));
      expect(summary(await read("note://image"))).toMatchObject({ contents: [{}] });
    });

    test("what is too large is refused, and leaves everything else alone", async () => {
      const { read, use } = await startWorld(kind, { maxOutputBytes: 3000 });
      expect(summary(await use("greet", { who: "x".repeat(4000) }))).toBe("failed output_too_large");
      expect(summary(await read("note://image"))).toMatchObject({ contents: [{}] });
    });
  });
}

describe("resources and prompts", () => {
  test("are there only with the namespace switched on, and for whom the server is", async () => {
    const { offers, read, noted } = await startWorld("stdio", { tenants: ["acme"] });
    const held = [{ enabledToolNamespaces: [] }, { enabledToolNamespaces: ["mcp.other"] }];
    for (const changes of held) {
      expect(await offers(changes)).toEqual([]);
      expect(summary(await read("note://1", { changes }))).toBe("failed not_found");
    }
    expect(noted()).toEqual([]);
    expect(await offers({ namespaceId: "other" })).toEqual([]);
    const elsewhere = await startWorld("stdio", { tenants: ["other"] });
    expect(summary(await elsewhere.read("note://1"))).toBe("failed not_found");
    expect(elsewhere.noted()).toEqual([]);
  });

  test("each need a capability of their own", async () => {
    const held = [
      grantOf("one", [capability(`mcp.test/resources/${offerSegment("note://1")}`, ["read"], "exact")]),
      grantOf("tools", [capability("mcp.test", ["call"])]),
    ];
    const { read, use } = await startWorld("stdio", {}, held);
    expect(await read("note://1")).toMatchObject({ status: "succeeded" });
    expect(summary(await read("note://image"))).toBe("denied no_matching_grant");
    expect(summary(await use("greet", { who: "Alice" }))).toBe("denied no_matching_grant");
  });

  test("of a server without them are none", async () => {
    const { offers, read } = worldOf({ command: testServer() }, "");
    expect(await offers()).toEqual([
      { server: "test", namespace: "mcp.test", resources: [], resourceTemplates: [], prompts: [] },
    ]);
    expect(summary(await read("note://1"))).toBe("failed not_found");
  });

  test("of a server that is down are left out, and the others' are there", async () => {
    const { pool, logged } = mcpWorld({
      test: { command: ["/no/such/program"] },
      other: { command: testServer("--offers") },
    });
    const offers = await pool.offers(contextOf(), new AbortController().signal);
    expect(offers.map(({ server }) => server)).toEqual(["other"]);
    expect(logged.map(({ message }) => message)).toContain("MCP server does not list its resources and prompts");
  });

  test("are listed once for all callers, and again when the server says that they changed", async () => {
    const { offers, call, noted } = await startWorld("stdio");
    const uris = async () => (await offers())[0]?.resources.map(({ uri }) => uri);
    await uris();
    expect(await uris()).not.toContain("note://new");
    expect(noted().filter((line) => line === "list resources")).toHaveLength(1);
    await call("mcp.test.publish");
    expect(await uris()).toContain("note://new");
  });

  test("are at most 256 of each, from as many pages as it takes", async () => {
    const { offers, logged } = worldOf({ command: testServer("--offers", "--resources", "300") }, "");
    expect((await offers())[0]?.resources).toHaveLength(256);
    const lists = logged.map(({ facts }) => [facts["list"], facts["count"]]);
    expect(lists).toContainEqual(["resources", 4 + 300 + 5 - 256]);
    expect(JSON.stringify(logged)).toContain("only 256 are used");
  });

  test("are not waited for by a caller who has left", async () => {
    const { pool } = mcpWorld({ test: { command: testServer("--start-after", "/no/such/file") } });
    const leaving = new AbortController();
    const offers = pool.offers(contextOf(), leaving.signal);
    leaving.abort();
    await expect(offers).rejects.toThrow("aborted");
  });
});
