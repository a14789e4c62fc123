import { describe, expect, test } from "vitest";
import type { JsonObject } from "turnpike/contracts";
import { databaseKinds, sharedDatabase } from "../../test/databases.ts";
import { fileWorld, pagesOf, type Sight } from "../../test/files.ts";

const tree = { "a/b": "1", "a/b/c": "22", "a/b.x": "-", "a/bc": "333", "a/d/e/f": "x", ab: "y", "z.md": "z" };

/** What a page shows, a folder with a slash behind it. */
function shown(page: JsonObject): string[] {
  const entries = page["entries"] as { kind: string; path: string }[];
  return entries.map(({ kind, path }) => (kind === "folder" ? `${path}/` : path));
}

/** Sees these paths and nothing else. */
function exactly(...paths: string[]): Sight {
  return (path) => paths.includes(path.join("/"));
}

describe.each(databaseKinds)("listing files on %s", (kind) => {
  const open = sharedDatabase(kind);

  test("shows path, version, size and age of every file", async () => {
    const world = fileWorld(await open());
    await world.seed({ "notes/ä.md": "ä" });
    expect(await world.ask("list", "notes")).toEqual({
      entries: [{ kind: "file", path: "notes/ä.md", version: 1, size: 2, updatedAt: expect.any(String) }],
    });
  });

  for (const row of [
    {
      name: "the root",
      path: "",
      depth: undefined,
      entries: ["a/b", "a/b.x", "a/b/c", "a/bc", "a/d/e/f", "ab", "z.md"],
    },
    { name: "a folder", path: "a", depth: undefined, entries: ["a/b", "a/b.x", "a/b/c", "a/bc", "a/d/e/f"] },
    { name: "a file", path: "a/b", depth: undefined, entries: ["a/b", "a/b/c"] },
    { name: "nothing", path: "none", depth: undefined, entries: [] },
    { name: "the root at depth 1", path: "", depth: 1, entries: ["a/", "ab", "z.md"] },
    { name: "a folder at depth 1", path: "a", depth: 1, entries: ["a/b", "a/b.x", "a/b/", "a/bc", "a/d/"] },
    { name: "a file at depth 1", path: "a/b", depth: 1, entries: ["a/b", "a/b/c"] },
  ]) {
    test(`of ${row.name} shows ${row.entries.join(" ") || "nothing"}, whatever the size of the pages`, async () => {
      const world = fileWorld(await open());
      await world.seed(tree);
      for (const limit of [1, 2, 100]) {
        const input = { limit, ...(row.depth && { depth: row.depth }) };
        const pages = await pagesOf(world, "list", row.path, { input });
        expect(pages.flatMap(shown)).toEqual(row.entries);
        expect(pages).toHaveLength(Math.max(1, Math.ceil(row.entries.length / limit)));
      }
    });
  }

  for (const row of [
    { name: "exactly one file", path: "", sight: exactly("a/b"), entries: ["a/b"] },
    { name: "a sibling that shares a prefix", path: "a", sight: exactly("a/bc"), entries: ["a/bc"] },
    { name: "nothing at all", path: "", sight: exactly(), entries: [] },
    { name: "a folder, but nothing in it", path: "", depth: 1, sight: exactly("a"), entries: ["a/"] },
    {
      name: "files below a folder, but not that itself",
      path: "",
      depth: 1,
      sight: exactly("a/b", "z.md"),
      entries: ["z.md"],
    },
  ]) {
    test(`whose caller sees ${row.name} shows only that, without gaps or a needless cursor`, async () => {
      const world = fileWorld(await open());
      await world.seed(tree);
      const input = { limit: 1, ...(row.depth && { depth: row.depth }) };
      const pages = await pagesOf(world, "list", row.path, { input, sight: row.sight });
      expect(pages.flatMap(shown)).toEqual(row.entries);
      expect(pages).toHaveLength(Math.max(1, row.entries.length));
    });
  }

  test("asks whether the same action is covered at each entry", async () => {
    const world = fileWorld(await open());
    await world.seed({ "a/b": "", "a/c/d": "" });
    await world.ask("list", "a", { input: { depth: 1 } });
    expect(world.asked.map(({ request }) => request)).toEqual([
      { action: "list", resource: { namespace: "files", path: ["a", "b"] } },
      { action: "list", resource: { namespace: "files", path: ["a", "c"] } },
    ]);
  });

  test("no cursor names a file that the caller does not see", async () => {
    const world = fileWorld(await open());
    await world.seed({ a: "", "b-hidden": "", c: "", "d-hidden": "", e: "" });
    const sight: Sight = ([name]) => !name?.includes("hidden");
    const pages = await pagesOf(world, "list", "", { input: { limit: 1 }, sight });
    expect(pages.map(shown)).toEqual([["a"], ["c"], ["e"]]);
    for (const { cursor } of pages.slice(0, -1)) {
      expect(Buffer.from(String(cursor), "base64url").toString()).not.toContain("hidden");
    }
  });

  test("continues at its place while files before and behind it come and go", async () => {
    const world = fileWorld(await open());
    await world.seed({ a: "", c: "", e: "" });
    const first = await world.ask("list", "", { input: { limit: 2 } });
    expect(shown(first)).toEqual(["a", "c"]);
    await world.files.delete(world.mine, ["c"]);
    await world.seed({ b: "", d: "" });
    const next = await world.ask("list", "", { input: { limit: 2, cursor: String(first["cursor"]) } });
    expect(shown(next)).toEqual(["d", "e"]);
    expect(next["cursor"]).toBeUndefined();
  });

  test("a cursor of another request is none", async () => {
    const world = fileWorld(await open());
    await world.seed(tree);
    const elsewhere = fileWorld(await open());
    const { cursor } = await world.ask("list", "a", { input: { limit: 1 } });
    const refused = { code: "invalid_cursor", message: "The cursor does not come from this request." };
    const input = { cursor: String(cursor) };
    expect(shown(await world.ask("list", "a", { input }))).toHaveLength(4);
    expect(await world.ask("list", "", { input })).toEqual(refused);
    expect(await world.ask("list", "a", { input: { ...input, depth: 1 } })).toEqual(refused);
    expect(await world.ask("list", "a", { input, of: elsewhere.mine })).toEqual(refused);
    expect(await world.ask("snapshot:list", "a", { input })).toEqual(refused);
    for (const garbled of ["", "x", `${String(cursor)}A`, String(cursor).slice(1), `${String(cursor)}=`, "bnVsbA"]) {
      expect(await world.ask("list", "a", { input: { cursor: garbled } })).toEqual(refused);
    }
  });
});
