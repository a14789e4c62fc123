import { describe, expect, test } from "vitest";
import { databaseKinds, newTenant, openFresh, sharedDatabase } from "../../test/databases.ts";
import { alice, assistant, neverAborted } from "../../test/records.ts";
import { ownerKey, type FileOwner } from "./file-columns.ts";
import type { FileStat } from "./file-rows.ts";
import { createFileStore, type FileStore } from "./file-store.ts";

function owner(): FileOwner {
  return { namespaceId: newTenant(), owner: alice };
}

async function walked(files: FileStore, of: FileOwner, folder: readonly string[], from?: string): Promise<string[]> {
  const found: FileStat[] = [];
  for await (const file of files.walk(of, folder, from)) found.push(file);
  return found.map(({ path }) => path.join("/"));
}

/** The code that a change is refused with, or what it came to. */
async function codeOf(change: Promise<unknown>): Promise<unknown> {
  return change.catch((error: { code?: string }) => error.code ?? error);
}

describe.each(databaseKinds)("files on %s", (kind) => {
  const open = sharedDatabase(kind);

  test("a file is read as it was written, one version later each time", async () => {
    const files = createFileStore(await open());
    const mine = owner();
    expect(await files.read(mine, ["notes", "a.md"])).toBeUndefined();
    await files.write(mine, ["notes", "a.md"], "ä\r\n\t");
    expect(await files.read(mine, ["notes", "a.md"])).toEqual({ content: "ä\r\n\t", version: 1 });
    await files.write(mine, ["notes", "a.md"], "");
    expect(await files.read(mine, ["notes", "a.md"])).toEqual({ content: "", version: 2 });
  });

  test("a file knows its version, its size in bytes and its age", async () => {
    const files = createFileStore(await open());
    const mine = owner();
    const before = new Date().toISOString();
    const made = await files.create(mine, ["a"], "ä🙂");
    expect(made).toEqual({ path: ["a"], version: 1, size: 6, updatedAt: expect.any(String) });
    expect(made.updatedAt >= before).toBe(true);
    expect(await files.stat(mine, ["a"])).toEqual(made);
    expect(await files.append(mine, ["a"], "!")).toMatchObject({ version: 2, size: 7 });
  });

  test("owners and tenants never see each other's files", async () => {
    const files = createFileStore(await open());
    const [tenant, elsewhere] = [newTenant(), newTenant()];
    await files.write({ namespaceId: tenant, owner: alice }, ["a.md"], "alice's");
    for (const other of [
      { namespaceId: tenant, owner: assistant },
      { namespaceId: tenant, owner: { kind: "service", serviceId: "alice" } as const },
      { namespaceId: elsewhere, owner: alice },
    ]) {
      expect(await files.read(other, ["a.md"])).toBeUndefined();
      expect(await files.stat(other, ["a.md"])).toBeUndefined();
      expect(await walked(files, other, [])).toEqual([]);
      expect(await files.match(other, [], { words: [], prefix: "alice" }, neverAborted)).toEqual([]);
      expect(await codeOf(files.delete(other, ["a.md"]))).toBe("not_found");
    }
  });

  for (const row of [
    {
      name: "everything",
      folder: [],
      listed: ["B.md", "a-b", "a.md", "a/b", "a/b/c", "a0", "a_b", "ab", "ä", "\u{ffee}", "🙂"],
    },
    { name: "a folder, and no sibling that shares a prefix", folder: ["a"], listed: ["a/b", "a/b/c"] },
    { name: "a file and what is below it", folder: ["a", "b"], listed: ["a/b", "a/b/c"] },
    { name: "nothing where nothing is", folder: ["%"], listed: [] },
  ]) {
    test(`a walk meets ${row.name}, in the same order on every database`, async () => {
      const files = createFileStore(await open());
      const mine = owner();
      for (const path of ["🙂", "\u{ffee}", "ä", "ab", "a_b", "a0", "a.md", "a-b", "a/b/c", "B.md", "a/b"])
        await files.write(mine, path.split("/"), "x");
      expect(await walked(files, mine, row.folder)).toEqual(row.listed);
    });
  }

  test("a walk begins where it is told to, and continues beyond one batch of rows", async () => {
    const files = createFileStore(await open());
    const mine = owner();
    const names = Array.from({ length: 1003 }, (_, place) => String(place).padStart(4, "0"));
    const { db } = await open();
    await db
      .insertInto("files")
      .values(
        names.map((path) => ({
          namespace_id: mine.namespaceId,
          owner: "human:alice",
          path,
          path_key: path,
          path_start: path,
          shelf: ownerKey({ namespace_id: mine.namespaceId, owner: "human:alice" }),
          version: 1,
          size: 0,
          digest: "none",
          updated_at: "2026-01-01T00:00:00Z",
        })),
      )
      .execute();
    expect(await walked(files, mine, [])).toEqual(names);
    expect(await walked(files, mine, [], "0998x")).toEqual(["0999", "1000", "1001", "1002"]);
    expect(await walked(files, mine, [], "1001")).toEqual(["1001", "1002"]);
  });

  for (const row of [
    { name: "64 segments of 256 characters", path: Array.from({ length: 64 }, (_, n) => noise(n, 256)) },
    { name: "halves of surrogate pairs", path: ["a\ud800", "\udc00b"] },
    { name: "what looks like a pattern", path: ["%_*?[", "'\""] },
    { name: "words of other scripts", path: ["हिन्दी", "日本語", "🙂"] },
  ]) {
    test(`a path with ${row.name} is a path`, async () => {
      const files = createFileStore(await open());
      const mine = owner();
      await files.create(mine, row.path, "content");
      await files.create(mine, [...row.path.slice(0, -1), "sibling"], "other");
      expect(await files.read(mine, row.path)).toEqual({ content: "content", version: 1 });
      expect(await walked(files, mine, row.path)).toEqual([row.path.join("/")]);
      expect(await walked(files, mine, row.path.slice(0, 1))).toContain(row.path.join("/"));
      expect((await files.stat(mine, row.path))?.path).toEqual(row.path);
    });
  }

  test("the longest path of the owner with the longest name in the tenant with the longest name is a path", async () => {
    const files = createFileStore(await open());
    const mine: FileOwner = { namespaceId: noise(100, 256), owner: { kind: "human", userId: noise(101, 256) } };
    const path = Array.from({ length: 64 }, (_, n) => noise(n, 256));
    await files.create(mine, path, "content");
    expect(await walked(files, mine, path.slice(0, 63))).toEqual([path.join("/")]);
    expect(await walked(files, mine, path, path.join("/"))).toEqual([path.join("/")]);
    expect(await files.delete(mine, path)).toBe(2);
  });

  test("paths that begin alike for long are stored in their order, a batch after the other", async () => {
    const files = createFileStore(await open());
    const mine = owner();
    const long = noise(1, 250);
    const names = Array.from({ length: 9 }, (_, n) => [long, long, `${n}`].join("/"));
    for (const name of names.toReversed()) await files.create(mine, name.split("/"), "x");
    expect(await walked(files, mine, [long])).toEqual(names);
    expect(await walked(files, mine, [long, long, "4"])).toEqual([names[4]]);
    expect(await walked(files, mine, [], names[5])).toEqual(names.slice(5));
  });

  test("two paths with different halves of surrogate pairs are two", async () => {
    const files = createFileStore(await open());
    const mine = owner();
    await files.create(mine, ["\ud800"], "one");
    await files.create(mine, ["\ud801"], "two");
    expect((await files.read(mine, ["\ud800"]))?.content).toBe("one");
  });

  for (const content of ["", "before\u0000after", "\ud800", "🙂", "\\u0000", '"', "a".repeat(1_000_000)]) {
    test(`the content ${JSON.stringify(content.slice(0, 20))} is stored to the last character`, async () => {
      const files = createFileStore(await open());
      const mine = owner();
      await files.create(mine, ["a"], content);
      expect((await files.read(mine, ["a"]))?.content === content).toBe(true);
      await files.delete(mine, ["a"]);
    });
  }

  test("every change is one version, and a file that is created again continues its count", async () => {
    const files = createFileStore(await open());
    const mine = owner();
    const versions = [
      (await files.create(mine, ["a"], "one")).version,
      (await files.replace(mine, ["a"], "one")).version,
      (await files.append(mine, ["a"], "")).version,
      await files.delete(mine, ["a"]),
      (await files.create(mine, ["a"], "two")).version,
    ];
    expect(versions).toEqual([1, 2, 3, 4, 5]);
  });

  for (const row of [
    {
      name: "creating what is there",
      run: (files: FileStore, of: FileOwner) => files.create(of, ["a"], "new"),
      code: "already_exists",
    },
    {
      name: "replacing nothing",
      run: (files: FileStore, of: FileOwner) => files.replace(of, ["none"], "new"),
      code: "not_found",
    },
    {
      name: "appending to nothing",
      run: (files: FileStore, of: FileOwner) => files.append(of, ["none"], "new"),
      code: "not_found",
    },
    {
      name: "deleting nothing",
      run: (files: FileStore, of: FileOwner) => files.delete(of, ["none"]),
      code: "not_found",
    },
    {
      name: "replacing what was deleted",
      run: (files: FileStore, of: FileOwner) => files.replace(of, ["gone"], "new", 1),
      code: "not_found",
    },
    {
      name: "appending to what was deleted",
      run: (files: FileStore, of: FileOwner) => files.append(of, ["gone"], "new"),
      code: "not_found",
    },
    {
      name: "deleting what was deleted",
      run: (files: FileStore, of: FileOwner) => files.delete(of, ["gone"], 2),
      code: "not_found",
    },
    {
      name: "replacing an older version",
      run: (files: FileStore, of: FileOwner) => files.replace(of, ["a"], "new", 1),
      code: "version_conflict",
    },
    {
      name: "appending to a later version",
      run: (files: FileStore, of: FileOwner) => files.append(of, ["a"], "new", 3),
      code: "version_conflict",
    },
    {
      name: "deleting an older version",
      run: (files: FileStore, of: FileOwner) => files.delete(of, ["a"], 1),
      code: "version_conflict",
    },
    {
      name: "a content that is too large",
      run: (files: FileStore, of: FileOwner) => files.replace(of, ["a"], "ä".repeat(6)),
      code: "content_too_large",
    },
    {
      name: "growing too large",
      run: (files: FileStore, of: FileOwner) => files.append(of, ["a"], "12345678"),
      code: "content_too_large",
    },
    {
      name: "one file too many",
      run: (files: FileStore, of: FileOwner) => files.create(of, ["c"], "new"),
      code: "quota_exceeded",
    },
    {
      name: "bringing back one file too many",
      run: (files: FileStore, of: FileOwner) => files.create(of, ["gone"], "new"),
      code: "quota_exceeded",
    },
  ]) {
    test(`${row.name} is refused as ${row.code}, and changes nothing`, async () => {
      const files = createFileStore(await open(), { fileBytes: 10, files: 2 });
      const mine = owner();
      await files.create(mine, ["a"], "old");
      await files.create(mine, ["gone"], "old");
      await files.delete(mine, ["gone"]);
      await files.replace(mine, ["a"], "now");
      await files.create(mine, ["b"], "full");
      expect(await codeOf(row.run(files, mine))).toBe(row.code);
      expect(await walked(files, mine, [])).toEqual(["a", "b"]);
      expect(await files.read(mine, ["a"])).toEqual({ content: "now", version: 2 });
    });
  }

  for (const row of [
    {
      name: "replacing",
      run: (files: FileStore, of: FileOwner) => files.replace(of, ["a"], "1234567890", 1),
      content: "1234567890",
    },
    {
      name: "appending to",
      run: (files: FileStore, of: FileOwner) => files.append(of, ["a"], "4567890", 1),
      content: "1234567890",
    },
  ]) {
    test(`${row.name} the expected version up to the limit is allowed`, async () => {
      const files = createFileStore(await open(), { fileBytes: 10, files: 1 });
      const mine = owner();
      await files.create(mine, ["a"], "123");
      expect(await row.run(files, mine)).toMatchObject({ version: 2, size: 10 });
      expect((await files.read(mine, ["a"]))?.content).toBe(row.content);
      expect(await files.delete(mine, ["a"], 2)).toBe(3);
      await files.create(mine, ["other"], "there is room again".slice(0, 10));
    });
  }

  test("the limits are frozen, and those that are not given are the usual ones", async () => {
    const { limits } = createFileStore(await open(), { files: 5 });
    expect(limits).toEqual({
      fileBytes: 1_000_000,
      files: 5,
      snapshots: 100,
      ownerSnapshots: 10_000,
      restoredBytes: 16_000_000,
      scannedCharacters: 10_000_000,
      scanMs: 200,
    });
    expect(Object.isFrozen(limits)).toBe(true);
  });

  test("fifty writes at once are fifty versions", async () => {
    const files = createFileStore(await open());
    const mine = owner();
    const made = await Promise.all(Array.from({ length: 50 }, (_, place) => files.write(mine, ["a"], String(place))));
    expect(made.map(({ version }) => version).toSorted((one, other) => one - other)).toEqual(
      Array.from({ length: 50 }, (_, place) => place + 1),
    );
  });

  test("writers of one owner leave a connection to other owners", async () => {
    const database = await openFresh(kind);
    const files = createFileStore(database);
    const mine = owner();
    let [inside, most] = [0, 0];
    const coverage = {
      signal: neverAborted,
      covers: () => Promise.resolve(true),
    };
    await files.create(mine, ["a"], "x");
    const count = async <T>(work: () => Promise<T>): Promise<T> => {
      inside += 1;
      most = Math.max(most, inside);
      return work().finally(() => (inside -= 1));
    };
    const watched = new Proxy(database.db, {
      get(db, name) {
        if (name === "transaction") {
          type Work = Parameters<ReturnType<typeof db.transaction>["execute"]>[0];
          return () => ({ execute: (work: Work) => count(() => db.transaction().execute(work)) });
        }
        const member = Reflect.get(db, name) as unknown;
        return typeof member === "function" ? (member.bind(db) as unknown) : member;
      },
    });
    const transact: typeof database.transact = (work) => count(() => database.transact(work));
    const store = createFileStore({ ...database, db: watched, transact });
    const ofOne = Array.from({ length: 25 }, (_, n) => store.write(mine, ["a"], `${n}`));
    await Promise.all([...ofOne, store.snapshots.create(mine, [], undefined, coverage)]);
    expect(most).toBe(1);
    await Promise.all(Array.from({ length: 25 }, () => store.write(owner(), ["a"], "x")));
    expect(most).toBe(4);
  });

  test("a change whose caller goes away while it waits is none", async () => {
    const files = createFileStore(await open());
    const mine = owner();
    const abort = new AbortController();
    const first = files.create(mine, ["a"], "x");
    const changes = [
      files.create(mine, ["b"], "x", abort.signal),
      files.replace(mine, ["a"], "y", undefined, abort.signal),
      files.append(mine, ["a"], "y", undefined, abort.signal),
      files.delete(mine, ["a"], undefined, abort.signal),
    ];
    abort.abort(new Error("gone"));
    for (const change of await Promise.allSettled(changes))
      expect(change).toEqual({ status: "rejected", reason: new Error("gone") });
    await first;
    expect(await walked(files, mine, [])).toEqual(["a"]);
    expect(await files.read(mine, ["a"])).toEqual({ content: "x", version: 1 });
  });

  test("of twenty creations at once one succeeds", async () => {
    const files = createFileStore(await open());
    const mine = owner();
    const made = await Promise.all(Array.from({ length: 20 }, () => codeOf(files.create(mine, ["a"], "x"))));
    expect(made.filter((code) => code === "already_exists")).toHaveLength(19);
  });

  test("the limit of files holds against many creations at once", async () => {
    const files = createFileStore(await open(), { files: 5 });
    const mine = owner();
    const made = await Promise.all(Array.from({ length: 20 }, (_, n) => codeOf(files.create(mine, [`f${n}`], "x"))));
    expect(made.filter((code) => code === "quota_exceeded")).toHaveLength(15);
    expect(await walked(files, mine, [])).toHaveLength(5);
  });

  test("what was deleted matches no more, and what was replaced matches its new words alone", async () => {
    const files = createFileStore(await open());
    const mine = owner();
    const found = async (prefix: string) =>
      (await files.match(mine, [], { words: [], prefix }, neverAborted)).map(({ path }) => path);
    await files.create(mine, ["a"], "old");
    await files.create(mine, ["b"], "old");
    await files.delete(mine, ["a"]);
    await files.replace(mine, ["b"], "new");
    expect([await found("old"), await found("new"), await found("a")]).toEqual([[], ["b"], []]);
  });

  test("a content is stored once, and removed with the last file that has it", async () => {
    const database = await openFresh(kind);
    const files = createFileStore(database);
    const mine = owner();
    const count = async () => (await database.db.selectFrom("contents").select("digest").execute()).length;
    await files.create(mine, ["a"], "same");
    await files.create(mine, ["b"], "same");
    await files.create({ ...mine, owner: assistant }, ["a"], "same");
    expect(await count()).toBe(2);
    await files.replace(mine, ["a"], "other");
    expect(await count()).toBe(3);
    await files.delete(mine, ["b"]);
    await files.append(mine, ["a"], "!");
    expect(await count()).toBe(2);
    expect((await files.read({ ...mine, owner: assistant }, ["a"]))?.content).toBe("same");
  });
});

/** Letters that cannot be compressed, the same for the same seed. */
function noise(seed: number, length: number): string {
  let state = seed + 1;
  return Array.from({ length }, () => {
    state = (state * 48_271) % 2_147_483_647;
    return String.fromCharCode(0x4e00 + (state % 20_000));
  }).join("");
}
