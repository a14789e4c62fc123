import { describe, expect, test } from "vitest";
import type { Capability, Grant, JsonObject, ResourceResult, ToolResult } from "turnpike/contracts";
import { createKernel, type Kernel, type PortFailure } from "turnpike/kernel";
import { memoryGrants, memoryUsage } from "turnpike/testing";
import { databaseKinds, newTenant, sharedDatabase } from "../../test/databases.ts";
import { alice, assistant, context, now } from "../../test/records.ts";
import type { Database } from "../storage/database.ts";
import type { FileServices } from "./file-action.ts";
import type { FileOwner } from "./file-columns.ts";
import { fileProvider } from "./file-provider.ts";
import { createFileStore, type FileStore } from "./file-store.ts";
import { fileTools } from "./file-tools.ts";

function may(actions: string[], path: string[], scope: Capability["scope"]): Capability {
  return { resource: { namespace: "files", path }, actions, scope };
}

/** The assistant at a real kernel, with capabilities that Alice granted one by one. */
interface World {
  files: FileStore;
  mine: FileOwner;
  failures: PortFailure[];
  call(tool: string, args: JsonObject): Promise<ToolResult>;
  operate(action: string, path: string[], input?: JsonObject): Promise<ResourceResult>;
}

function worldOf(database: Database, capabilities: Capability[], constraints: Grant["constraints"] = {}): World {
  const mine: FileOwner = { namespaceId: newTenant(), owner: alice };
  const grants = capabilities.map((capability, place): Grant => ({
    id: `grant-${place}`,
    namespaceId: mine.namespaceId,
    subject: assistant,
    issuer: alice,
    capabilities: [capability],
    constraints,
    issuedAt: "2026-01-01T10:00:00Z",
  }));
  const files = createFileStore(database);
  const failures: PortFailure[] = [];
  const services: FileServices = { files, covers: (act, request) => kernel.covers(act, request) };
  const kernel: Kernel = createKernel({
    grants: memoryGrants(grants),
    usage: memoryUsage(),
    tools: fileTools(services),
    resources: [fileProvider(services)],
    audit: "none",
    onPortError: (_error, failure) => void failures.push(failure),
  });
  const asked = context({ namespaceId: mine.namespaceId, enabledToolNamespaces: ["files"] });
  let acts = 0;
  return {
    files,
    mine,
    failures,
    call(tool, args) {
      acts += 1;
      const call = { id: `call-${acts}`, tool, arguments: args, requestedAt: now, traceId: asked.traceId };
      return kernel.invokeTool(asked, call);
    },
    operate(action, path, input = {}) {
      acts += 1;
      const resource = { namespace: "files", path };
      return kernel.invokeResource(asked, { operationId: `operation-${acts}`, action, resource, input });
    },
  };
}

async function fill({ files, mine }: World, ...paths: string[]): Promise<void> {
  for (const path of paths) await files.create(mine, path.split("/"), `word of ${path}`);
}

/** What a list, a search or a grep shows. */
function foundIn(result: ToolResult | ResourceResult): { id: string; path: string }[] {
  if (result.status !== "succeeded") throw new Error(`It did not succeed: ${result.error.code}`);
  return Object.values(result.output as Record<string, { id: string; path: string }[]>)[0] ?? [];
}

const all = [may(["*"], [], "descendants")];

const services: FileServices = { files: undefined as unknown as FileStore, covers: () => Promise.resolve(true) };

test("there are twelve tools, each for one action, and none hides what it does", () => {
  const about = fileTools(services).map(
    ({ descriptor: { name, namespace, readWrite, annotations, requiredCapability } }) => {
      const { action, resource } = requiredCapability;
      expect({ namespace, resource }).toEqual({ namespace: "files", resource: { namespace: "files", path: [] } });
      return [
        name,
        action,
        readWrite,
        Object.keys(annotations ?? {}).filter((key) => annotations?.[key as "readOnly"]),
      ];
    },
  );
  expect(about).toEqual([
    ["files.list", "list", "read", ["readOnly"]],
    ["files.stat", "stat", "read", ["readOnly"]],
    ["files.read", "read", "read", ["readOnly"]],
    ["files.search", "search", "read", ["readOnly"]],
    ["files.grep", "grep", "read", ["readOnly"]],
    ["files.create", "create", "write", []],
    ["files.replace", "replace", "write", ["destructive"]],
    ["files.append", "append", "write", []],
    ["files.delete", "delete", "write", ["destructive", "idempotent"]],
    ["files.snapshot.create", "snapshot:create", "write", []],
    ["files.snapshot.list", "snapshot:list", "read", ["readOnly"]],
    ["files.snapshot.restore", "snapshot:restore", "write", ["destructive", "idempotent"]],
  ]);
});

test("a tool says what it takes and what it answers", () => {
  const replace = fileTools(services).find(({ descriptor }) => descriptor.name === "files.replace")?.descriptor;
  expect(replace?.inputSchema).toEqual({
    type: "object",
    properties: {
      path: { type: "string", maxLength: 16_447, description: "slash-separated, such as notes/todo.md" },
      content: { type: "string" },
      expectedVersion: {
        type: "integer",
        minimum: 1,
        maximum: 9_007_199_254_740_991,
        description: "change nothing when the file has another version",
      },
    },
    required: ["path", "content"],
    additionalProperties: false,
  });
  expect(replace?.outputSchema).toMatchObject({ required: ["path", "version", "size", "updatedAt"] });
});

describe.each(databaseKinds)("the tools of files on %s", (kind) => {
  const open = sharedDatabase(kind);

  test("work on the owner's files, one after the other", async () => {
    const world = worldOf(await open(), all);
    const path = "notes/todo.md";
    const steps: [string, JsonObject, JsonObject][] = [
      ["files.create", { path, content: "water\n" }, { path, version: 1, size: 6 }],
      ["files.append", { path, content: "plants\n", expectedVersion: 1 }, { version: 2, size: 13 }],
      ["files.stat", { path }, { path, version: 2, size: 13 }],
      ["files.read", { path }, { content: "water\nplants\n", version: 2 }],
      ["files.list", { path: "" }, { entries: [{ kind: "file", path, version: 2 }] }],
      ["files.list", { path: "", depth: 1 }, { entries: [{ kind: "folder", path: "notes" }] }],
      ["files.search", { path: "", query: "water plan" }, { results: [{ path, version: 2, excerpt: "water plants" }] }],
      ["files.grep", { path: "notes", pattern: "plants" }, { matches: [{ path, line: 2, text: "plants" }] }],
      ["files.snapshot.create", { path: "notes", label: "one" }, { path: "notes", label: "one", files: 1 }],
      ["files.replace", { path, content: "", expectedVersion: 2 }, { version: 3, size: 0 }],
      ["files.snapshot.list", { path: "" }, { snapshots: [{ path: "notes", label: "one" }] }],
      ["files.delete", { path, expectedVersion: 3 }, { version: 4 }],
    ];
    for (const [tool, args, output] of steps) {
      expect(await world.call(tool, args)).toMatchObject({ status: "succeeded", output });
    }
    const listed = await world.call("files.snapshot.list", { path: "notes" });
    const [id = ""] = foundIn(listed).map((snapshot) => snapshot.id);
    expect(await world.call("files.snapshot.restore", { path: "notes", snapshot: id })).toMatchObject({
      status: "succeeded",
      output: { written: 1, deleted: 0 },
    });
    expect(await world.call("files.read", { path })).toMatchObject({ output: { version: 5 } });
    expect(world.failures).toEqual([]);
  });

  for (const row of [
    { tool: "files.read", args: { path: "none" }, code: "not_found", message: "There is no file at this path." },
    {
      tool: "files.create",
      args: { path: "a", content: "" },
      code: "already_exists",
      message: "There is a file at this path already.",
    },
    {
      tool: "files.replace",
      args: { path: "a", content: "", expectedVersion: 2 },
      code: "version_conflict",
      message: "The file has version 1, and not 2.",
    },
    {
      tool: "files.list",
      args: { path: "", cursor: "x" },
      code: "invalid_cursor",
      message: "The cursor does not come from this request.",
    },
    { tool: "files.grep", args: { path: "", pattern: "" }, code: "invalid_pattern", message: "The pattern is empty." },
    {
      tool: "files.read",
      args: { path: "" },
      code: "invalid_tool_arguments",
      message: "/path: expected 1 or more elements",
    },
    {
      tool: "files.read",
      args: { path: "/a" },
      code: "invalid_tool_arguments",
      message: "/path/0: expected 1 or more characters",
    },
    {
      tool: "files.list",
      args: { path: "a/" },
      code: "invalid_tool_arguments",
      message: "/path/1: expected 1 or more characters",
    },
    {
      tool: "files.list",
      args: { path: "a/../b" },
      code: "invalid_tool_arguments",
      message: "/path/1: expected a path segment: no slash, backslash or control character, not . or ..",
    },
    {
      tool: "files.list",
      args: { path: String.raw`a\b` },
      code: "invalid_tool_arguments",
      message: "/path/0: expected a path segment: no slash, backslash or control character, not . or ..",
    },
    {
      tool: "files.list",
      args: { path: "a/".repeat(64) + "a" },
      code: "invalid_tool_arguments",
      message: "/path: expected at most 64 elements",
    },
    { tool: "files.list", args: {}, code: "invalid_tool_arguments", message: "/path: expected string" },
  ]) {
    test(`${row.tool} with ${JSON.stringify(row.args).slice(0, 50)} fails as ${row.code}`, async () => {
      const world = worldOf(await open(), all);
      await fill(world, "a");
      expect(await world.call(row.tool, row.args)).toMatchObject({
        status: "failed",
        error: { code: row.code, message: row.message },
      });
      expect(world.failures).toEqual([]);
    });
  }

  test("need their own action at their own path", async () => {
    const world = worldOf(await open(), [may(["read"], ["a", "b"], "descendants")]);
    await fill(world, "a/b", "a/bc", "a/b/c");
    expect(await world.call("files.read", { path: "a/b/c" })).toMatchObject({ status: "succeeded" });
    expect(await world.call("files.read", { path: "a/bc" })).toMatchObject({ error: { code: "no_matching_grant" } });
    expect(await world.call("files.list", { path: "a/b" })).toMatchObject({ error: { code: "tool_unavailable" } });
    expect(await world.operate("read", ["a", "bc"])).toMatchObject({ error: { code: "no_matching_grant" } });
    expect(await world.operate("stat", ["a", "b"])).toMatchObject({ error: { code: "no_matching_grant" } });
  });

  for (const row of [
    { name: "everything below", may: [may(["*"], ["a"], "descendants")], paths: ["a/b", "a/b/c", "a/bc"] },
    { name: "the folder alone", may: [may(["*"], ["a"], "exact")], paths: [] },
    {
      name: "the folder, and one file",
      may: [may(["*"], ["a"], "exact"), may(["*"], ["a", "b"], "exact")],
      paths: ["a/b"],
    },
    {
      name: "the folder, and one file's folder",
      may: [may(["*"], ["a"], "exact"), may(["*"], ["a", "b"], "descendants")],
      paths: ["a/b", "a/b/c"],
    },
    {
      name: "the folder, and a file for another action",
      may: [may(["*"], ["a"], "exact"), may(["read"], [], "descendants")],
      paths: [],
    },
  ]) {
    test(`a grant of ${row.name} shows ${row.paths.join(" ") || "nothing"}, by every way of reading`, async () => {
      const world = worldOf(await open(), row.may);
      await fill(world, "a/b", "a/bc", "a/b/c", "ab");
      const outputs = {
        list: await world.call("files.list", { path: "a" }),
        search: await world.call("files.search", { path: "a", query: "word" }),
        grep: await world.call("files.grep", { path: "a", pattern: "word" }),
        resourceList: await world.operate("list", ["a"]),
        resourceSearch: await world.operate("search", ["a"], { query: "word" }),
        resourceGrep: await world.operate("grep", ["a"], { pattern: "word" }),
      };
      for (const result of Object.values(outputs)) {
        expect(
          foundIn(result)
            .map(({ path }) => path)
            .toSorted(),
        ).toEqual(row.paths);
      }
      expect(await world.call("files.snapshot.create", { path: "a" })).toMatchObject(
        row.paths.length === 0 ? { error: { code: "not_found" } } : { output: { files: row.paths.length } },
      );
    });
  }

  test("a restore touches only what the grant covers", async () => {
    const world = worldOf(await open(), [may(["*"], ["a"], "exact"), may(["snapshot:restore"], ["a", "b"], "exact")]);
    const { files, mine } = world;
    await fill(world, "a/b", "a/bc");
    const everyone = { covers: () => Promise.resolve(true), signal: new AbortController().signal };
    const { id } = await files.snapshots.create(mine, ["a"], undefined, everyone);
    for (const name of ["b", "bc"]) await files.replace(mine, ["a", name], "new");
    await fill(world, "a/d");
    expect(await world.operate("snapshot:restore", ["a"], { snapshot: id })).toMatchObject({
      output: { written: 1, deleted: 0 },
    });
    expect((await files.read(mine, ["a", "bc"]))?.content).toBe("new");
    expect((await files.read(mine, ["a", "b"]))?.content).toBe("word of a/b");
  });

  test("a use that an act took counts for all that it shows, and none is taken for it", async () => {
    const world = worldOf(await open(), [may(["list"], ["a"], "descendants")], { maxUses: 1 });
    await fill(world, "a/b", "a/c");
    expect(await world.call("files.list", { path: "a" })).toMatchObject({
      output: { entries: [{ path: "a/b" }, { path: "a/c" }] },
    });
    expect(await world.call("files.list", { path: "a" })).toMatchObject({ status: "denied" });
  });
});
