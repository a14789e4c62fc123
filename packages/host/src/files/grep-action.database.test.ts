import { describe, expect, test } from "vitest";
import type { JsonObject } from "turnpike/contracts";
import { databaseKinds, sharedDatabase } from "../../test/databases.ts";
import { fileWorld, pagesOf, type FileWorld, type Sight } from "../../test/files.ts";

/** Matches as `path:line text`. */
function shown(page: JsonObject): string[] {
  const matches = page["matches"] as { path: string; line: number; text: string }[];
  return matches.map(({ path, line, text }) => `${path}:${line} ${text}`);
}

async function grep(world: FileWorld, pattern: string, input: JsonObject = {}, path = ""): Promise<string[]> {
  return shown(await world.ask("grep", path, { input: { pattern, ...input } }));
}

describe.each(databaseKinds)("searching for lines on %s", (kind) => {
  const open = sharedDatabase(kind);
  const shelf = { "a/b": "one\r\ntwo [x]\n\nTwo", "a/bc": "two\n", ab: "no\ntwo", z: "" };

  for (const row of [
    { name: "a text", pattern: "two", path: "", lines: ["a/b:2 two [x]", "a/bc:1 two", "ab:2 two"] },
    { name: "a text in a folder", pattern: "two", path: "a", lines: ["a/b:2 two [x]", "a/bc:1 two"] },
    { name: "a text in a file, not in its sibling", pattern: "two", path: "a/b", lines: ["a/b:2 two [x]"] },
    { name: "a text with brackets", pattern: "[x]", path: "", lines: ["a/b:2 two [x]"] },
    {
      name: "any case",
      pattern: "TWO",
      path: "a/b",
      input: { ignoreCase: true },
      lines: ["a/b:2 two [x]", "a/b:4 Two"],
    },
    {
      name: "an expression",
      pattern: "^[Tt]wo$",
      path: "",
      input: { regex: true },
      lines: ["a/b:4 Two", "a/bc:1 two", "ab:2 two"],
    },
    {
      name: "line ends without their carriage return",
      pattern: "one$",
      path: "",
      input: { regex: true },
      lines: ["a/b:1 one"],
    },
    {
      name: "empty lines, but none behind the last",
      pattern: "^$",
      path: "a",
      input: { regex: true },
      lines: ["a/b:3 "],
    },
    { name: "nothing", pattern: "three", path: "", lines: [] },
  ]) {
    test(`finds ${row.name}, whatever the size of the pages`, async () => {
      const world = fileWorld(await open());
      await world.seed(shelf);
      for (const limit of [1, 2, 100]) {
        const pages = await pagesOf(world, "grep", row.path, { input: { pattern: row.pattern, limit, ...row.input } });
        expect(pages.flatMap(shown)).toEqual(row.lines);
        expect(pages).toHaveLength(Math.max(1, Math.ceil(row.lines.length / limit)));
      }
    });
  }

  test("cuts long lines, and no character in two", async () => {
    const world = fileWorld(await open());
    await world.seed({ a: `${"x".repeat(499)}🙂 end`, b: "x".repeat(500) });
    expect(await grep(world, "x")).toEqual([`a:1 ${"x".repeat(499)}`, `b:1 ${"x".repeat(500)}`]);
  });

  test("shows only lines of files that the caller sees, and no cursor names another", async () => {
    const world = fileWorld(await open(), { scannedCharacters: 1 });
    await world.seed({ a: "x", "b-hidden": "x", c: "x", "d-hidden": "x" });
    const sight: Sight = ([name], action) => action === "grep" && !name?.includes("hidden");
    const pages = await pagesOf(world, "grep", "", { input: { pattern: "x" }, sight });
    expect(pages.map(shown)).toEqual([["a:1 x"], ["c:1 x"]]);
    expect(Buffer.from(String(pages[0]?.["cursor"]), "base64url").toString()).not.toContain("hidden");
  });

  test("searches so much in one call, and continues from there, within a file as well", async () => {
    const world = fileWorld(await open(), { scannedCharacters: 100 });
    const content = Array.from({ length: 20 }, (_, n) => `line ${n + 1}`).join("\n");
    await world.seed({ a: content, b: content });
    const pages = await pagesOf(world, "grep", "", { input: { pattern: "line 20" } });
    expect(pages.length).toBeGreaterThan(4);
    expect(pages.flatMap(shown)).toEqual(["a:20 line 20", "b:20 line 20"]);
  });

  test("without time it searches one line in a call, and finds everything all the same", async () => {
    const world = fileWorld(await open(), { scanMs: 0 });
    await world.seed({ a: "x\r\n\nx\n", b: "", c: "x" });
    const pages = await pagesOf(world, "grep", "", { input: { pattern: "x" } });
    expect(pages.map(shown)).toEqual([["a:1 x"], [], ["a:3 x"], ["c:1 x"]]);
  });

  for (const action of ["grep", "search"]) {
    test(`of many calls of ${action} two run at a time`, async () => {
      const world = fileWorld(await open());
      await world.seed({ a: "x" });
      const [started, ended]: [number[], number[]] = [[], []];
      const most = new Set<number>();
      const calls = Array.from({ length: 6 }, async (_, n) => {
        const sight: Sight = () => {
          started.push(n);
          most.add(started.length - ended.length);
          return true;
        };
        const input = action === "grep" ? { pattern: "x" } : { query: "x" };
        await world.ask(action, "", { input, sight });
        ended.push(n);
      });
      await Promise.all(calls);
      expect(Math.max(...most)).toBeLessThanOrEqual(2);
      expect(started).toHaveLength(6);
    });
  }

  test("a text far behind in a long line is found", async () => {
    const world = fileWorld(await open());
    await world.seed({ a: `${"x".repeat(999_000)}needle` });
    expect(await grep(world, "NEEDLE", { ignoreCase: true })).toHaveLength(1);
  });

  test("a cursor continues at its place after files have changed; another pattern's is none", async () => {
    const world = fileWorld(await open());
    await world.seed({ a: "x\nx\nx", b: "x" });
    const first = await world.ask("grep", "", { input: { pattern: "x", limit: 2 } });
    const cursor = String(first["cursor"]);
    await world.files.append(world.mine, ["a"], "\nx");
    expect(await grep(world, "x", { cursor })).toEqual(["a:3 x", "a:4 x", "b:1 x"]);
    await world.files.delete(world.mine, ["a"]);
    expect(await grep(world, "x", { cursor })).toEqual(["b:1 x"]);
    for (const input of [{ pattern: "y" }, { pattern: "x", regex: true }, { pattern: "x", ignoreCase: true }]) {
      expect(await world.ask("grep", "", { input: { ...input, cursor } })).toMatchObject({ code: "invalid_cursor" });
    }
  });

  test("a pattern that cannot be searched for is refused in words", async () => {
    const world = fileWorld(await open());
    expect(await world.ask("grep", "", { input: { pattern: "(", regex: true } })).toEqual({
      code: "invalid_pattern",
      message: "The pattern is no regular expression: error parsing regexp: missing closing ): `(`.",
    });
  });

  test("an aborted call stops before the next file", async () => {
    const world = fileWorld(await open());
    await world.seed({ a: "x", b: "x", c: "x" });
    const abort = new AbortController();
    const sight: Sight = ([name]) => {
      if (name === "b") abort.abort(new Error("gone"));
      return true;
    };
    await expect(world.ask("grep", "", { input: { pattern: "x" }, sight, signal: abort.signal })).rejects.toThrow(
      "gone",
    );
    expect(world.asked.map(({ request }) => request.resource.path)).toEqual([["a"], ["b"]]);
  });

  const as = `${"a".repeat(999_999)}!`;
  const mixed = coins(999_999);
  for (const row of [
    { pattern: "(a+)+$", content: as },
    { pattern: "(a|aa)+$", content: as },
    { pattern: "(.*)*(.*)*(.*)*c", content: as },
    { pattern: "([a-zA-Z]+)*c$", content: as },
    { pattern: "(a?){150}a{150}c", content: as },
    { pattern: "[ab]*a[ab]{15}c", content: mixed },
    { pattern: "[ab]*a[ab]{900}$", content: mixed },
    { pattern: "[ab]*a[ab]{900}$", content: "ab\n".repeat(300_000) },
    { pattern: "[ab]*a[ab]{400}[cd]", content: mixed },
    { pattern: "[ab]*a[ab]{400}[cd]", content: mixed.replaceAll(/.{40}/g, "$&\n") },
  ]) {
    test(`no pattern delays others: ${row.pattern} on ${row.content.slice(0, 2)}…`, async () => {
      const world = fileWorld(await open(), { scanMs: 200, fileBytes: 1_100_000 });
      await world.seed({ a: row.content, b: row.content });
      // The processor's time: what others do on the machine is no work of a grep.
      const turns: number[] = [];
      let last = process.cpuUsage();
      const clock = setInterval(() => {
        const { user, system } = process.cpuUsage(last);
        turns.push((user + system) / 1000);
        last = process.cpuUsage();
      }, 1);
      const input = { pattern: row.pattern, regex: true, limit: 1 };
      const calls = Array.from({ length: 5 }, () => pagesOf(world, "grep", "", { input }, 2));
      for (const [first] of await Promise.all(calls)) expect(first).toHaveProperty("matches");
      clearInterval(clock);
      expect(Math.max(...turns)).toBeLessThan(500);
    });
  }
});

/** Letters in no order that a matcher could make use of, the same every time. */
function coins(length: number): string {
  let state = 1;
  return Array.from({ length }, () => {
    state = (state * 48_271) % 2_147_483_647;
    return state % 65_536 < 32_768 ? "a" : "b";
  }).join("");
}
