import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { JsonObject } from "turnpike/contracts";
import { databaseKinds, openFresh, sharedDatabase } from "../../test/databases.ts";
import { fileWorld, pagesOf, type FileWorld, type Sight } from "../../test/files.ts";

function pathsOf(page: JsonObject): string[] {
  return (page["results"] as { path: string }[]).map(({ path }) => path);
}

async function found(world: FileWorld, query: string, path = ""): Promise<string[]> {
  return pathsOf(await world.ask("search", path, { input: { query } }));
}

describe.each(databaseKinds)("searching files on %s", (kind) => {
  const open = sharedDatabase(kind);

  const shelf = {
    "notes/todo.md": "- water the plants\n- call Bob\n",
    "notes/ideas.md": "A gate that every agent passes. Water is not mentioned twice.\n",
    "letters/bob.txt": "Dear Bob, the plants are fine.",
    "letters/größe.txt": "हिन्दी 日本語 O'Neill",
  };

  for (const row of [
    { query: "water plants", paths: ["notes/todo.md"] },
    { query: "PLANTS", paths: ["letters/bob.txt", "notes/todo.md"] },
    { query: "plan", paths: ["letters/bob.txt", "notes/todo.md"] },
    { query: "plan water", paths: [] },
    { query: "notes gate", paths: ["notes/ideas.md"] },
    { query: "grö", paths: ["letters/größe.txt"] },
    { query: "हिन्दी", paths: ["letters/größe.txt"] },
    { query: "日本", paths: ["letters/größe.txt"] },
    { query: "o'neill", paths: ["letters/größe.txt"] },
    { query: "nothing like it", paths: [] },
    { query: "", paths: [] },
    { query: "🙂", paths: [] },
  ]) {
    test(`finds ${row.paths.length} files for ${JSON.stringify(row.query)}`, async () => {
      const world = fileWorld(await open());
      await world.seed(shelf);
      expect((await found(world, row.query)).toSorted()).toEqual(row.paths);
    });
  }

  test("answers with path, version, score and the place of a word", async () => {
    const world = fileWorld(await open());
    await world.seed({ "a.md": `${"filler ".repeat(50)}\n\nthe gate   is open ${"filler ".repeat(50)}` });
    await world.files.append(world.mine, ["a.md"], "");
    const { results } = await world.ask("search", "", { input: { query: "open gate" } });
    expect(results).toEqual([
      {
        path: "a.md",
        version: 2,
        score: expect.any(Number),
        excerpt: expect.stringMatching(/^….*the gate is open.*…$/),
      },
    ]);
  });

  for (const row of [
    { name: "a file that has a word more often", contents: { a: "gate x", b: "gate gate gate x" } },
    { name: "a shorter file", contents: { a: `gate ${"other words ".repeat(200)}`, b: "gate" } },
    { name: "a file that is named so", contents: { "a/x": "gate", "b/gate": "x" } },
  ]) {
    test(`ranks ${row.name} first`, async () => {
      const world = fileWorld(await open());
      await world.seed(row.contents);
      const [first] = await found(world, "gate");
      expect(first).toMatch(/^b/);
    });
  }

  test("orders equally good files by their paths, whatever the size of the pages", async () => {
    const world = fileWorld(await open());
    for (const path of ["\u{10400}", "c", "ab", "a", "\u{ff21}"]) await world.seed({ [path]: "same" });
    for (const limit of [1, 4, 100]) {
      const pages = await pagesOf(world, "search", "", { input: { query: "same", limit } });
      expect(pages.flatMap(pathsOf)).toEqual(["a", "ab", "c", "\u{ff21}", "\u{10400}"]);
    }
  });

  test("follows a file through every change", async () => {
    const world = fileWorld(await open());
    const { files, mine } = world;
    await world.seed({ a: "alpha" });
    await files.replace(mine, ["a"], "beta");
    expect([await found(world, "alpha"), await found(world, "beta")]).toEqual([[], ["a"]]);
    await files.append(mine, ["a"], " gamma");
    expect([await found(world, "beta gamma"), await found(world, "alpha")]).toEqual([["a"], []]);
    await files.delete(mine, ["a"]);
    expect([await found(world, "beta"), await found(world, "gamma")]).toEqual([[], []]);
    await files.create(mine, ["a"], "delta");
    expect([await found(world, "beta"), await found(world, "delta")]).toEqual([[], ["a"]]);
  });

  test("stays in its folder, and out of siblings that share a prefix", async () => {
    const world = fileWorld(await open());
    await world.seed({ "a/b": "word", "a/bc": "word", "a/b/c": "word", ab: "word" });
    expect((await found(world, "word", "a/b")).toSorted()).toEqual(["a/b", "a/b/c"]);
  });

  test("shows only what the caller sees, and no cursor names anything else", async () => {
    const world = fileWorld(await open());
    await world.seed({ a: "word", "b-hidden": "word word", c: "word", "d-hidden": "word" });
    const sight: Sight = ([name], action) => action === "search" && !name?.includes("hidden");
    const pages = await pagesOf(world, "search", "", { input: { query: "word", limit: 1 }, sight });
    expect(pages.map(pathsOf)).toEqual([["a"], ["c"]]);
    expect(Buffer.from(String(pages[0]?.["cursor"]), "base64url").toString()).not.toContain("hidden");
  });

  test("scores a file alike whatever others have: no score tells about files of others", async () => {
    const database = await openFresh(kind);
    const [world, elsewhere] = [fileWorld(database), fileWorld(database)];
    await world.seed({ a: "rare word" });
    const before = await world.ask("search", "", { input: { query: "rare" } });
    for (let n = 0; n < 20; n += 1) await elsewhere.seed({ [`f${n}`]: n % 2 ? "rare rare rare" : "common" });
    await world.seed({ hidden: "rare ".repeat(100) });
    const sight: Sight = ([name]) => name !== "hidden";
    expect(await world.ask("search", "", { input: { query: "rare" }, sight })).toEqual(before);
  });

  test("finds words of the first hundred thousand characters alone", async () => {
    const world = fileWorld(await open());
    await world.seed({ a: `early ${"x ".repeat(50_000)}late` });
    expect([await found(world, "early"), await found(world, "late")]).toEqual([["a"], []]);
  });

  test("takes in a file of as many different and long words as there can be", async () => {
    const world = fileWorld(await open());
    const many = Array.from({ length: 50_000 }, (_, n) => String.fromCodePoint(0x4e00 + (n % 20_000))).join(" ");
    const long = Array.from({ length: 1000 }, (_, n) => String.fromCodePoint(0x4e00 + n).repeat(99)).join(" ");
    await world.seed({ many, long, unfolding: "\ufdfa ".repeat(50_000) });
    expect(await found(world, "一")).toEqual(expect.arrayContaining(["many", "long"]));
  });

  test("a cursor of another query is none, and a page continues behind what was shown", async () => {
    const world = fileWorld(await open());
    await world.seed({ a: "word", b: "word", c: "word" });
    const first = await world.ask("search", "", { input: { query: "word", limit: 1 } });
    const cursor = String(first["cursor"]);
    await world.files.delete(world.mine, ["a"]);
    expect(pathsOf(await world.ask("search", "", { input: { query: "word", cursor } }))).toEqual(["b", "c"]);
    expect(await world.ask("search", "", { input: { query: "wor", cursor } })).toMatchObject({
      code: "invalid_cursor",
    });
  });

  test("no text is syntax, and none is an error", async () => {
    const world = fileWorld(await open());
    await world.seed({ a: "alpha beta", b: "and or not near" });
    const tricky = fc.constantFrom(
      '"',
      "'",
      "*",
      " AND ",
      " OR ",
      " NOT ",
      "NEAR(",
      "{path}:",
      "^",
      ":*",
      "&",
      "|",
      "!",
      "<->",
      "\\",
      "\u0000",
      "\ud800",
      "(",
      ")",
      "-",
      "+",
      "alpha",
      ";--",
    );
    const texts = fc.array(fc.oneof(tricky, fc.string({ unit: "binary", maxLength: 4 })), { maxLength: 12 });
    await fc.assert(
      fc.asyncProperty(texts, async (parts) => {
        expect(await world.ask("search", "", { input: { query: parts.join("") } })).toHaveProperty("results");
      }),
      { numRuns: 150 },
    );
    const words = Array.from({ length: 500 }, (_, n) => String.fromCodePoint(0x4e00 + n)).join(" ");
    expect(await world.ask("search", "", { input: { query: words } })).toEqual({ results: [] });
  });
});
