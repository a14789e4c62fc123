import { describe, expect, test } from "vitest";
import type { JsonObject } from "turnpike/contracts";
import { databaseKinds, sharedDatabase } from "../../test/databases.ts";
import { fileWorld } from "../../test/files.ts";
import { context, neverAborted } from "../../test/records.ts";
import { fileProvider } from "./file-provider.ts";

const [kind = "sqlite"] = databaseKinds;

describe("the resource namespace files", () => {
  const open = sharedDatabase(kind);

  test("answers an operation under its id", async () => {
    const { files, mine } = fileWorld(await open());
    const provider = fileProvider({ files, covers: () => Promise.resolve(true) });
    expect(provider.namespace).toBe("files");
    const operation = {
      operationId: "operation-1",
      resource: { namespace: "files", owner: mine.owner, path: ["a"] },
      context: context({ namespaceId: mine.namespaceId }),
    };
    const create = { ...operation, action: "create", input: { content: "x" } };
    expect(await provider.invoke(create, neverAborted)).toEqual({
      status: "succeeded",
      operationId: "operation-1",
      completedAt: expect.any(String),
      output: { path: "a", version: 1, size: 1, updatedAt: expect.any(String) },
    });
    expect(await provider.invoke(create, neverAborted)).toEqual({
      status: "failed",
      operationId: "operation-1",
      completedAt: expect.any(String),
      error: { code: "already_exists", message: "There is a file at this path already." },
    });
    expect(await provider.invoke({ ...operation, action: "read" }, neverAborted)).toMatchObject({
      status: "succeeded",
      output: { content: "x", version: 1 },
    });
  });

  for (const row of [
    { action: "stat", path: "none", input: {}, code: "not_found", message: "There is no file at this path." },
    { action: "read", path: "none", input: {}, code: "not_found", message: "There is no file at this path." },
    { action: "read", path: "folder", input: {}, code: "not_found", message: "There is no file at this path." },
    {
      action: "delete",
      path: "a",
      input: { expectedVersion: 7 },
      code: "version_conflict",
      message: "The file has version 1, and not 7.",
    },
    {
      action: "append",
      path: "a",
      input: { content: "12345" },
      code: "content_too_large",
      message: "The file would have 6 bytes; at most 5 are stored.",
    },
    {
      action: "create",
      path: "b",
      input: { content: "" },
      code: "quota_exceeded",
      message: "There are 2 files at most.",
    },
    {
      action: "format",
      path: "a",
      input: {},
      code: "invalid_request",
      message:
        '/action: expected "list" or "stat" or "read" or "search" or "grep" or "create" or "replace" or "append" or "delete" or "snapshot:create" or "snapshot:list" or "snapshot:restore"',
    },
    {
      action: "read",
      path: "",
      input: {},
      code: "invalid_request",
      message: "/resource/path: expected 1 or more elements",
    },
    { action: "create", path: "b", input: {}, code: "invalid_request", message: "/input/content: expected string" },
    {
      action: "create",
      path: "b",
      input: { content: "", expectedVersion: 1 },
      code: "invalid_request",
      message: "/input/expectedVersion: expected no such key",
    },
    {
      action: "replace",
      path: "a",
      input: { content: "", expectedVersion: 0 },
      code: "invalid_request",
      message: "/input/expectedVersion: expected 1 or more",
    },
    {
      action: "list",
      path: "",
      input: { limit: 0 },
      code: "invalid_request",
      message: "/input/limit: expected 1 or more",
    },
    {
      action: "list",
      path: "",
      input: { limit: 1001 },
      code: "invalid_request",
      message: "/input/limit: expected at most 1000",
    },
    { action: "list", path: "", input: { depth: 2 }, code: "invalid_request", message: "/input/depth: expected 1" },
    { action: "list", path: "", input: "all", code: "invalid_request", message: "/input: expected object" },
    {
      action: "list",
      path: "",
      input: { path: "x" },
      code: "invalid_request",
      message: "/input/path: expected no such key",
    },
    {
      action: "search",
      path: "",
      input: { query: "x".repeat(1001) },
      code: "invalid_request",
      message: "/input/query: expected at most 1000 characters",
    },
  ]) {
    test(`${row.action} of "${row.path}" with ${JSON.stringify(row.input).slice(0, 40)} fails as ${row.code}`, async () => {
      const world = fileWorld(await open(), { files: 2, fileBytes: 5 });
      await world.seed({ a: "x", "folder/x": "y" });
      expect(await world.ask(row.action, row.path, { input: row.input })).toEqual({
        code: row.code,
        message: row.message,
      });
    });
  }

  test("coverage may be read from the same database: no transaction waits for itself", async () => {
    const database = await open();
    const { files, mine, seed } = fileWorld(database);
    await seed({ "a/b": "word", "a/c": "word" });
    const covers = async (): Promise<boolean> => {
      await database.db.selectFrom("grants").select("id").execute();
      return true;
    };
    const invoke = (action: string, input: JsonObject) => {
      const resource = { namespace: "files", owner: mine.owner, path: ["a"] };
      const operation = { operationId: "operation-1", action, resource, input, context: context(mine) };
      return fileProvider({ files, covers }).invoke(operation, neverAborted);
    };
    const made = await invoke("snapshot:create", {});
    expect(made).toMatchObject({ output: { files: 2 } });
    await files.delete(mine, ["a", "b"]);
    const { id } = (await files.snapshots.list(mine))[0] ?? { id: "" };
    expect(await invoke("snapshot:restore", { snapshot: id })).toMatchObject({ output: { written: 1 } });
    expect(await invoke("list", {})).toMatchObject({ output: { entries: [{}, {}] } });
    expect(await invoke("search", { query: "word" })).toMatchObject({ output: { results: [{}, {}] } });
    expect(await invoke("grep", { pattern: "word" })).toMatchObject({ output: { matches: [{}, {}] } });
    expect(await invoke("snapshot:list", {})).toMatchObject({ output: { snapshots: [{}] } });
  });

  test("an outage is no answer: it reaches the kernel as an error", async () => {
    const world = fileWorld(await open());
    const broken = { ...world.files, stat: () => Promise.reject(new Error("database gone")) };
    const provider = fileProvider({ files: broken, covers: () => Promise.resolve(true) });
    const operation = {
      operationId: "operation-1",
      action: "stat",
      resource: { namespace: "files", path: ["a"] },
      context: context(),
    };
    await expect(provider.invoke(operation, neverAborted)).rejects.toThrow("database gone");
  });
});
