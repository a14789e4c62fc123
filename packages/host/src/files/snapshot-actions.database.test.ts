import { describe, expect, test } from "vitest";
import type { JsonObject } from "turnpike/contracts";
import { databaseKinds, sharedDatabase } from "../../test/databases.ts";
import { fileWorld, pagesOf, type FileWorld, type Sight } from "../../test/files.ts";
import { assistant } from "../../test/records.ts";

async function snapshot(world: FileWorld, path: string, sight?: Sight): Promise<string> {
  const made = await world.ask("snapshot:create", path, sight && { sight });
  return String(made["id"]);
}

/** Every file with its content and version. */
async function stateOf({ files, mine }: FileWorld): Promise<Record<string, string>> {
  const state: Record<string, string> = {};
  for await (const { path } of files.walk(mine, [])) {
    const file = await files.read(mine, path);
    state[path.join("/")] = `${file?.content} v${file?.version}`;
  }
  return state;
}

function idsOf(page: JsonObject): string[] {
  return (page["snapshots"] as { id: string }[]).map(({ id }) => id);
}

describe.each(databaseKinds)("snapshots on %s", (kind) => {
  const open = sharedDatabase(kind);

  test("a snapshot says what it is of, and how many files it has", async () => {
    const world = fileWorld(await open());
    await world.seed({ "a/b": "1", "a/c": "2", ab: "3" });
    const made = await world.ask("snapshot:create", "a", { input: { label: "before \u0000 \ud800" } });
    expect(made).toEqual({
      id: expect.any(String),
      path: "a",
      label: "before \u0000 \ud800",
      createdAt: expect.any(String),
      files: 2,
    });
    const { files: _count, ...listed } = made;
    expect(await world.ask("snapshot:list", "")).toEqual({ snapshots: [listed] });
  });

  test("a restore brings back content and files, deletes what is new, and counts on", async () => {
    const world = fileWorld(await open());
    const { files, mine } = world;
    await world.seed({ "a/same": "s", "a/changed": "old", "a/gone": "g", "a/back": "b", outside: "o" });
    const id = await snapshot(world, "a");
    await files.replace(mine, ["a", "changed"], "new");
    await files.delete(mine, ["a", "gone"]);
    await files.replace(mine, ["a", "back"], "other");
    await files.replace(mine, ["a", "back"], "b");
    await files.create(mine, ["a", "new"], "n");
    await files.replace(mine, ["outside"], "changed");
    expect(await world.ask("snapshot:restore", "a", { input: { snapshot: id } })).toEqual({ written: 2, deleted: 1 });
    expect(await stateOf(world)).toEqual({
      "a/same": "s v1",
      "a/changed": "old v3",
      "a/gone": "g v3",
      "a/back": "b v3",
      outside: "changed v2",
    });
    expect(await files.create(mine, ["a", "new"], "again")).toMatchObject({ version: 3 });
    expect(await world.ask("snapshot:restore", "a", { input: { snapshot: id } })).toEqual({ written: 0, deleted: 1 });
    expect(await world.ask("snapshot:restore", "a", { input: { snapshot: id } })).toEqual({ written: 0, deleted: 0 });
  });

  test("what is restored can be searched for, and what it replaced cannot", async () => {
    const world = fileWorld(await open());
    await world.seed({ a: "before" });
    const id = await snapshot(world, "");
    await world.files.replace(world.mine, ["a"], "after");
    await world.ask("snapshot:restore", "", { input: { snapshot: id } });
    expect(await world.ask("search", "", { input: { query: "before" } })).toMatchObject({ results: [{ path: "a" }] });
    expect(await world.ask("search", "", { input: { query: "after" } })).toEqual({ results: [] });
  });

  test("a snapshot never changes, whatever becomes of its files", async () => {
    const world = fileWorld(await open());
    const { files, mine } = world;
    await world.seed({ a: "one", b: "one" });
    const id = await snapshot(world, "");
    for (let round = 0; round < 3; round += 1) {
      await files.replace(mine, ["a"], `round ${round}`);
      await files.delete(mine, ["b"]);
      await world.ask("snapshot:restore", "", { input: { snapshot: id } });
      expect(Object.values(await stateOf(world)).map((each) => each.slice(0, 3))).toEqual(["one", "one"]);
    }
  });

  for (const row of [
    { name: "where nothing is", path: "b", sight: () => true },
    { name: "where everything was deleted", path: "gone", sight: () => true },
    { name: "where the caller sees nothing", path: "a", sight: ([name]: readonly string[]) => name !== "a" },
  ]) {
    test(`a snapshot ${row.name} is refused, and is none`, async () => {
      const world = fileWorld(await open());
      await world.seed({ "a/b": "1", gone: "2" });
      await world.files.delete(world.mine, ["gone"]);
      expect(await world.ask("snapshot:create", row.path, { sight: row.sight })).toEqual({
        code: "not_found",
        message: "There is no file here to take a snapshot of.",
      });
      expect(await world.ask("snapshot:list", "")).toEqual({ snapshots: [] });
    });
  }

  test("a file that is a folder too is captured with what is below it, its sibling is not", async () => {
    const world = fileWorld(await open());
    await world.seed({ "a/b": "1", "a/b/c": "2", "a/bc": "3" });
    expect(await world.ask("snapshot:create", "a/b")).toMatchObject({ files: 2 });
  });

  for (const row of [
    { name: "an unknown id", path: "a", pick: () => "unknown" },
    { name: "an id that no column takes", path: "a", pick: () => "\u0000\ud800" },
    { name: "a snapshot of a folder above", path: "a/b", pick: (id: string) => id },
    { name: "a snapshot of a folder below", path: "", pick: (id: string) => id },
  ]) {
    test(`${row.name} is not found, and nothing changes`, async () => {
      const world = fileWorld(await open());
      await world.seed({ "a/b": "1" });
      const id = await snapshot(world, "a");
      await world.files.replace(world.mine, ["a", "b"], "2");
      expect(await world.ask("snapshot:restore", row.path, { input: { snapshot: row.pick(id) } })).toEqual({
        code: "not_found",
        message: "There is no snapshot of this id at this path.",
      });
      expect(await stateOf(world)).toEqual({ "a/b": "2 v2" });
    });
  }

  test("another owner's snapshot is not found", async () => {
    const world = fileWorld(await open());
    await world.seed({ a: "1" });
    const id = await snapshot(world, "");
    const of = { ...world.mine, owner: assistant };
    expect(await world.ask("snapshot:restore", "", { input: { snapshot: id }, of })).toMatchObject({
      code: "not_found",
    });
    expect(await world.ask("snapshot:list", "", { of })).toEqual({ snapshots: [] });
  });

  test("snapshots are listed at and below a path, the newest first, whatever the size of the pages", async () => {
    const world = fileWorld(await open());
    await world.seed({ "a/b": "1", ab: "2" });
    const ids: string[] = [];
    for (const path of ["a", "a/b", "ab", "a/b", "", "a"]) ids.push(await snapshot(world, path));
    const [first, second, , fourth, , sixth] = ids;
    for (const limit of [1, 3, 100]) {
      const pages = await pagesOf(world, "snapshot:list", "a", { input: { limit } });
      expect(pages.flatMap(idsOf)).toEqual([sixth, fourth, second, first]);
      expect(pages).toHaveLength(Math.ceil(4 / limit));
    }
    expect(idsOf(await world.ask("snapshot:list", ""))).toEqual(ids.toReversed());
  });

  test("a list continues at its place while new snapshots are made", async () => {
    const world = fileWorld(await open());
    await world.seed({ a: "1" });
    const [one, two] = [await snapshot(world, ""), await snapshot(world, "")];
    const page = await world.ask("snapshot:list", "", { input: { limit: 1 } });
    await snapshot(world, "");
    expect(idsOf(page)).toEqual([two]);
    const cursor = String(page["cursor"]);
    expect(idsOf(await world.ask("snapshot:list", "", { input: { cursor } }))).toEqual([one]);
    expect(await world.ask("snapshot:list", "a", { input: { cursor } })).toMatchObject({ code: "invalid_cursor" });
  });

  test("one snapshot too many is refused", async () => {
    const world = fileWorld(await open(), { snapshots: 2, ownerSnapshots: 3 });
    await world.seed({ "a/b": "1", c: "2" });
    await snapshot(world, "a");
    await snapshot(world, "a");
    expect(await world.ask("snapshot:create", "a")).toEqual({
      code: "quota_exceeded",
      message: "There are 2 snapshots of a path at most.",
    });
    await snapshot(world, "c");
    expect(await world.ask("snapshot:create", "a/b")).toEqual({
      code: "quota_exceeded",
      message: "There are 3 snapshots at most.",
    });
    expect(idsOf(await world.ask("snapshot:list", ""))).toHaveLength(3);
  });

  test("a snapshot of more than is restored at once is refused, and what the caller does not see does not count", async () => {
    const world = fileWorld(await open(), { restoredBytes: 10 });
    await world.seed({ "a/b": "123", "a/c": "456", "a/d": "78" });
    expect(await world.ask("snapshot:create", "a")).toEqual({
      code: "content_too_large",
      message: "There are 14 bytes to store here, and at most 10 at once; store a smaller folder.",
    });
    expect(await world.ask("snapshot:list", "")).toEqual({ snapshots: [] });
    const sight: Sight = ([, name]) => name !== "d";
    expect(await world.ask("snapshot:create", "a", { sight })).toMatchObject({ files: 2 });
  });

  test("a restore that would write too much at once is refused, and changes nothing", async () => {
    const database = await open();
    const { mine, ...world } = fileWorld(database);
    await world.seed({ "a/b": "123", "a/c": "456", "a/d": "78" });
    const made = await world.ask("snapshot:create", "a");
    const input = { snapshot: String(made["id"]) };
    for (const name of ["b", "c", "d", "new"]) await world.files.write(mine, ["a", name], "now");
    const small = { ...fileWorld(database, { restoredBytes: 10 }), mine };
    const before = await stateOf(small);
    expect(await small.ask("snapshot:restore", "a", { input, of: mine })).toEqual({
      code: "content_too_large",
      message: "There are 14 bytes to restore here, and at most 10 at once; restore a smaller folder.",
    });
    expect(await stateOf(small)).toEqual(before);
    await small.files.replace(mine, ["a", "b"], "123");
    expect(await small.ask("snapshot:restore", "a", { input, of: mine })).toEqual({ written: 2, deleted: 1 });
  });

  test("a restore that would make too many files is refused, and changes nothing", async () => {
    const world = fileWorld(await open(), { files: 2 });
    const { files, mine } = world;
    await world.seed({ "a/b": "1", "a/c": "2" });
    const id = await snapshot(world, "a");
    await files.delete(mine, ["a", "b"]);
    await files.replace(mine, ["a", "c"], "new");
    await world.seed({ other: "3" });
    const before = await stateOf(world);
    expect(await world.ask("snapshot:restore", "a", { input: { snapshot: id } })).toMatchObject({
      code: "quota_exceeded",
    });
    expect(await stateOf(world)).toEqual(before);
    await files.delete(mine, ["other"]);
    expect(await world.ask("snapshot:restore", "a", { input: { snapshot: id } })).toEqual({ written: 2, deleted: 0 });
  });

  describe("of a caller who does not see everything", () => {
    const sight: Sight = (path) => !path.join("/").includes("hidden");

    test("list shows only snapshots of paths that the caller sees, without gaps", async () => {
      const world = fileWorld(await open());
      await world.seed({ "a/b": "1", "a/hidden": "2" });
      const ids: string[] = [];
      for (const path of ["a", "a/hidden", "a/b", "a/hidden", "a/hidden"]) ids.push(await snapshot(world, path));
      const pages = await pagesOf(world, "snapshot:list", "a", { input: { limit: 1 }, sight });
      expect(pages.map(idsOf)).toEqual([[ids[2]], [ids[0]]]);
    });

    test("create captures only what the caller sees, and counts only that", async () => {
      const world = fileWorld(await open());
      const { files, mine } = world;
      await world.seed({ "a/b": "old", "a/hidden": "old" });
      expect(await world.ask("snapshot:create", "a", { sight })).toMatchObject({ files: 1 });
      const id = idsOf(await world.ask("snapshot:list", "a"))[0] ?? "";
      await files.replace(mine, ["a", "b"], "new");
      await files.replace(mine, ["a", "hidden"], "new");
      // Also for a caller who sees everything, the snapshot says nothing about what its maker did not see.
      expect(await world.ask("snapshot:restore", "a", { input: { snapshot: id } })).toEqual({ written: 1, deleted: 0 });
      expect(await stateOf(world)).toEqual({ "a/b": "old v3", "a/hidden": "new v2" });
    });

    test("restore leaves alone what the caller does not see", async () => {
      const world = fileWorld(await open());
      const { files, mine } = world;
      await world.seed({ "a/b": "old", "a/hidden-changed": "old", "a/hidden-gone": "old" });
      const id = await snapshot(world, "a");
      for (const path of ["b", "hidden-changed"]) await files.replace(mine, ["a", path], "new");
      await files.delete(mine, ["a", "hidden-gone"]);
      await world.seed({ "a/hidden-new": "new", "a/new": "new" });
      world.asked.length = 0;
      expect(await world.ask("snapshot:restore", "a", { input: { snapshot: id }, sight })).toEqual({
        written: 1,
        deleted: 1,
      });
      expect(await stateOf(world)).toEqual({ "a/b": "old v3", "a/hidden-changed": "new v2", "a/hidden-new": "new v1" });
      expect(new Set(world.asked.map(({ request }) => request.action))).toEqual(new Set(["snapshot:restore"]));
    });

    test("a file that appears while coverage is asked for is asked for as well", async () => {
      const world = fileWorld(await open());
      const { files, mine } = world;
      await world.seed({ "a/b": "1" });
      const id = await snapshot(world, "a");
      await world.seed({ "a/c": "2" });
      const late: Promise<unknown>[] = [];
      const slow: Sight = ([, name]) => {
        if (name === "c") late.push(files.write(mine, ["a", "hidden-d"], "3"), files.write(mine, ["a", "e"], "4"));
        return !name?.includes("hidden");
      };
      const restored = world.ask("snapshot:restore", "a", { input: { snapshot: id }, sight: slow });
      const { deleted } = await restored;
      await Promise.all(late);
      expect(late).toHaveLength(2);
      const state = await stateOf(world);
      expect(state).toMatchObject({ "a/b": "1 v1", "a/hidden-d": "3 v1" });
      // Before the restore it is deleted, behind it it stays: never anything between.
      expect([deleted, "a/e" in state]).toEqual(deleted === 2 ? [2, false] : [1, true]);
    });

    test("a coverage that cannot be established changes nothing", async () => {
      const world = fileWorld(await open());
      await world.seed({ a: "1" });
      const id = await snapshot(world, "");
      await world.files.replace(world.mine, ["a"], "2");
      const broken: Sight = () => {
        throw new Error("no authority");
      };
      await expect(world.ask("snapshot:restore", "", { input: { snapshot: id }, sight: broken })).rejects.toThrow(
        "no authority",
      );
      await expect(world.ask("snapshot:create", "", { sight: broken })).rejects.toThrow("no authority");
      expect(await stateOf(world)).toEqual({ a: "2 v2" });
      expect(idsOf(await world.ask("snapshot:list", ""))).toEqual([id]);
    });
  });

  test("an aborted restore changes nothing", async () => {
    const world = fileWorld(await open());
    await world.seed(Object.fromEntries(Array.from({ length: 60 }, (_, n) => [`f${n}`, "old"])));
    const id = await snapshot(world, "");
    for (let n = 0; n < 60; n += 1) await world.files.replace(world.mine, [`f${n}`], "new");
    const abort = new AbortController();
    let asked = 0;
    const sight: Sight = () => {
      asked += 1;
      if (asked === 60) setImmediate(() => setImmediate(() => abort.abort(new Error("gone"))));
      return true;
    };
    const restore = world.ask("snapshot:restore", "", { input: { snapshot: id }, sight, signal: abort.signal });
    await expect(restore).rejects.toThrow("gone");
    expect(new Set(Object.values(await stateOf(world)))).toEqual(new Set(["new v2"]));
  });
});
