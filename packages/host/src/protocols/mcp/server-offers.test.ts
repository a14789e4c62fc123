import type { Client } from "@modelcontextprotocol/client";
import type { Capability } from "turnpike/contracts";
import { describe, expect, test } from "vitest";
import { servedWorld, type ServedWorld } from "../../../test/mcp/endpoint.ts";
import { capability, connectClient } from "../../../test/mcp/servers.ts";
import type { ServerOffer } from "../../mcp-servers/index.ts";

const resource = (uri: string) => ({ uri, name: `named ${uri}` });

function offerOf(server: string, offered: Partial<ServerOffer> = {}): ServerOffer {
  return { server, namespace: `mcp.${server}`, resources: [], resourceTemplates: [], prompts: [], ...offered };
}

const wiki = offerOf("wiki", {
  resources: ["wiki://start", "wiki://help", "shared://page"].map(resource),
  resourceTemplates: [
    { name: "page", uriTemplate: "wiki://page/{id}" },
    { name: "ours", uriTemplate: "turnpike://files/{+path}" },
  ],
  prompts: [
    { name: "sum_up", description: "Sums up.", arguments: [{ name: "page", required: true }] },
    { name: "find.it", _meta: { "wiki/kind": "search" } },
  ],
});
const other = offerOf("other", {
  resources: ["shared://page", "turnpike://files/notes/todo.md", "TURNPIKE://files/x"].map(resource),
  resourceTemplates: [{ name: "anything", uriTemplate: "{+uri}" }],
  prompts: [{ name: "sum_up" }],
});

const step = encodeURIComponent;
const readsAll = (server: string) => capability(`mcp.${server}/resources`, ["read"]);
const reads = (server: string, uri: string) => capability(`mcp.${server}/resources/${step(uri)}`, ["read"], "exact");
const uses = (server: string, name: string) => capability(`mcp.${server}/prompts/${step(name)}`, ["use"], "exact");

function worldOf(files: readonly Capability[], offers: readonly ServerOffer[] = [wiki, other]): ServedWorld {
  return servedWorld({ files, offers });
}

for (const mode of ["legacy", "auto"] as const) {
  describe(`for a client of the ${mode === "legacy" ? "older" : "newer"} protocol`, () => {
    const connect = (files: readonly Capability[], offers?: readonly ServerOffer[]): Promise<Client> =>
      connectClient("http://turnpike.test/mcp", "assistant", { mode, serve: worldOf(files, offers).serve });

    describe("the resources of servers that are listed are those that may be read", () => {
      for (const row of [
        { name: "none without a grant", granted: [], uris: [] },
        { name: "none that tools may be called of", granted: [capability("mcp.wiki", ["call"])], uris: [] },
        { name: "one by one", granted: [reads("wiki", "wiki://help")], uris: ["wiki://help"] },
        {
          name: "all of a server",
          granted: [readsAll("wiki")],
          uris: ["wiki://start", "wiki://help", "shared://page"],
        },
        {
          name: "with a grant for everything on a server",
          granted: [capability("mcp.wiki", ["*"])],
          uris: ["wiki://start", "wiki://help", "shared://page"],
        },
        {
          name: "one that two servers have once, and no server's that is called like a file of the host",
          granted: [readsAll("other"), reads("wiki", "shared://page")],
          uris: ["shared://page"],
        },
        {
          name: "behind the files of the host",
          granted: [capability("files/notes", ["list", "read"]), reads("wiki", "wiki://help")],
          uris: [
            ...["ideas.md", "plans/2026.md", "todo.md"].map((path) => `turnpike://files/notes/${path}`),
            "wiki://help",
          ],
        },
      ]) {
        test(row.name, async () => {
          const { resources } = await (await connect(row.granted)).listResources();
          expect(resources.map(({ uri }) => uri)).toEqual(row.uris);
        });
      }

      test("of the first that has it, when two have it", async () => {
        const second = offerOf("other", { resources: [{ uri: "shared://page", name: "the second's" }] });
        const client = await connect([reads("wiki", "shared://page"), readsAll("other")], [wiki, second]);
        expect((await client.listResources()).resources).toEqual([resource("shared://page")]);
      });

      test("page after page, each once", async () => {
        const uris = Array.from({ length: 450 }, (_, place) => `wiki://${place}`);
        const many = offerOf("wiki", { resources: [...uris, ...uris].map(resource) });
        const next = offerOf("other", { resources: [resource("other://one")] });
        const granted = [capability("files/notes", ["list", "read"]), readsAll("wiki"), readsAll("other")];
        const client = await connect(granted, [many, next]);
        const { resources } = await client.listResources();
        expect(resources.slice(3).map(({ uri }) => uri)).toEqual([...uris, "other://one"]);
        const first = await client.request({ method: "resources/list" });
        expect(first.nextCursor).toBeDefined();
      });
    });

    test("a template is shown when something of its server may be read, and never one of the host's files", async () => {
      const templates = async (granted: readonly Capability[]) =>
        (await (await connect(granted)).listResourceTemplates()).resourceTemplates.map(({ name }) => name);
      expect(await templates([])).toEqual(["file"]);
      expect(await templates([uses("wiki", "sum_up")])).toEqual(["file"]);
      expect(await templates([reads("wiki", "wiki://help")])).toEqual(["file", "page"]);
      expect(await templates([capability("mcp.wiki", ["read"]), readsAll("other")])).toEqual([
        "file",
        "page",
        "anything",
      ]);
    });

    describe("reading", () => {
      for (const row of [
        { name: "a listed resource", granted: [reads("wiki", "wiki://help")], uri: "wiki://help", of: "mcp.wiki" },
        {
          name: "one that a template makes",
          granted: [reads("wiki", "wiki://page/7")],
          uri: "wiki://page/7",
          of: "mcp.wiki",
        },
        { name: "one that two list, of the first", granted: [readsAll("wiki"), readsAll("other")], of: "mcp.wiki" },
        { name: "one that two list, of the one that is granted", granted: [readsAll("other")], of: "mcp.other" },
        {
          name: "one that is listed, and not another server's that has a template for everything",
          granted: [readsAll("wiki"), readsAll("other")],
          uri: "wiki://start",
          servers: [other, wiki],
          of: "mcp.wiki",
        },
      ]) {
        test(`${row.name} gives what its server says`, async () => {
          const { uri = "shared://page" } = row;
          const client = await connect(row.granted, row.servers);
          expect(await client.readResource({ uri })).toMatchObject({ contents: [{ uri, text: `of ${row.of}` }] });
        });
      }

      test("a file of the host is never answered by a server", async () => {
        const client = await connect([readsAll("other"), capability("files/notes", ["read"])]);
        expect(await client.readResource({ uri: "turnpike://files/notes/todo.md" })).toMatchObject({
          contents: [{ text: "- water the plants" }],
        });
        for (const uri of ["turnpike://files/private/diary.md", "TURNPIKE://files/x"])
          await expect(client.readResource({ uri })).rejects.toMatchObject({ code: -32_602 });
      });

      test("what is not granted, what its server does not have and what no server has are refused alike", async () => {
        const client = await connect([reads("wiki", "wiki://page/gone")], [wiki]);
        for (const uri of [
          "wiki://help",
          "wiki://page/8",
          "wiki://page/gone",
          "missing://note",
          `wiki://page/${"x".repeat(300)}`,
        ]) {
          const message = "There is no such resource, or no grant covers it.";
          const data = { code: "no_matching_grant", uri };
          await expect(client.readResource({ uri })).rejects.toMatchObject({ code: -32_602, message, data });
        }
      });
    });

    test("the prompts that are listed are those that may be used, under names for clients and with their real ones", async () => {
      const list = async (granted: readonly Capability[]) => (await (await connect(granted)).listPrompts()).prompts;
      expect(await list([])).toEqual([]);
      expect(await list([readsAll("wiki"), capability("mcp.wiki", ["call"])])).toEqual([]);
      expect(await list([uses("wiki", "sum_up")])).toEqual([
        {
          name: "mcp_wiki_sum_up",
          description: "Sums up.",
          arguments: [{ name: "page", required: true }],
          _meta: { "turnpike/name": "mcp.wiki.sum_up" },
        },
      ]);
      expect(await list([capability("mcp.wiki/prompts", ["use"]), uses("other", "sum_up")])).toMatchObject([
        { name: "mcp_wiki_sum_up" },
        {
          name: expect.stringMatching(/^mcp_wiki_find_it_[0-9a-f]{8}$/),
          _meta: { "turnpike/name": "mcp.wiki.find.it", "wiki/kind": "search" },
        },
        { name: "mcp_other_sum_up" },
      ]);
    });

    test("prompts are listed page after page", async () => {
      const prompts = Array.from({ length: 401 }, (_, place) => ({ name: `p${place}` }));
      const client = await connect([capability("mcp.wiki", ["use"])], [offerOf("wiki", { prompts })]);
      const first = await client.request({ method: "prompts/list" });
      expect(first.prompts).toHaveLength(200);
      expect((await client.listPrompts()).prompts.map(({ name }) => name)).toEqual(
        prompts.map(({ name }) => `mcp_wiki_${name}`),
      );
      for (const cursor of ["", "x", Buffer.from('{"after":["mcp.wiki","p999"]}').toString("base64url")])
        await expect(client.request({ method: "prompts/list", params: { cursor } })).rejects.toMatchObject({
          code: -32_602,
          data: { code: "invalid_request" },
        });
    });

    test("a prompt is used by either of its names, with its arguments", async () => {
      const client = await connect([uses("wiki", "sum_up"), uses("wiki", "find.it")]);
      const [, found] = (await client.listPrompts()).prompts;
      for (const name of ["mcp_wiki_sum_up", "mcp.wiki.sum_up", found?.name ?? "", "mcp.wiki.find.it"]) {
        const text = JSON.stringify({ arguments: { page: "start" } });
        expect(await client.getPrompt({ name, arguments: { page: "start" } })).toMatchObject({
          messages: [{ role: "user", content: { type: "text", text } }],
        });
      }
    });

    test("a prompt that is not granted and one that no server has are refused alike", async () => {
      const client = await connect([uses("wiki", "sum_up"), readsAll("other")]);
      const message = "There is no such prompt, or no grant covers it.";
      for (const name of ["mcp_other_sum_up", "mcp.other.sum_up", "mcp_wiki_none", "sum_up", "", "__proto__"]) {
        const refused = { code: -32_602, message, data: { code: "no_matching_grant" } };
        await expect(client.getPrompt({ name })).rejects.toMatchObject(refused);
      }
    });
  });
}

test("what is read and refused is in the audit log, and a denial that is not about grants says its code and what to do", async () => {
  const world = worldOf([reads("wiki", "wiki://help")]);
  const client = await connectClient("http://turnpike.test/mcp", "assistant", { serve: world.serve });
  await client.readResource({ uri: "wiki://help" });
  await client.readResource({ uri: "wiki://start" }).catch(() => {});
  const invoked = world.audit.events.filter(({ type }) => type === "resource.invoked");
  expect(invoked.map(({ outcome, resource: read }) => [outcome, read?.path[1]])).toEqual([
    ["succeeded", step("wiki://help")],
    ["denied", step("wiki://start")],
  ]);

  const error = { code: "approval_required", message: "It needs an approval.", details: { escalationId: "q1" } };
  const asking = servedWorld({
    offers: [wiki],
    changeApi: (api) => ({
      ...api,
      invokeResource: ({ now: completedAt }, { operationId }) =>
        Promise.resolve({ status: "denied", operationId, completedAt, error }),
    }),
  });
  const asked = await connectClient("http://turnpike.test/mcp", "assistant", { serve: asking.serve });
  const text =
    "It needs an approval. A person has been asked (q1). Call again with exactly the same arguments after the approval.";
  await expect(asked.readResource({ uri: "wiki://help" })).rejects.toMatchObject({
    code: -32_602,
    message: expect.stringContaining(text),
    data: { code: "approval_required" },
  });
});
