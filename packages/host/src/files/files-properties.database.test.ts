import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { JsonObject } from "turnpike/contracts";
import { databaseKinds, newTenant, openPair, sharedDatabase } from "../../test/databases.ts";
import { fileModel, type FileStep } from "../../test/file-model.ts";
import { fileWorld, pagesOf, type FileWorld } from "../../test/files.ts";
import { alice } from "../../test/records.ts";
import { createFileStore, type FileStore } from "./file-store.ts";

const limits = { fileBytes: 8, files: 4, snapshots: 2, ownerSnapshots: 3 };

const path = fc.constantFrom("a", "a/b", "a/bc", "a/b/c", "a.x", "d/é");
const folder = fc.constantFrom("", "a", "a/b", "ab", "d");
const content = fc.constantFrom("", "x", "yy", "x yy", "\u0000", "ä", "123456789");
const expected = fc.constantFrom("none", "right", "wrong");

const step: fc.Arbitrary<FileStep> = fc.oneof(
  fc.record({ kind: fc.constant("create"), path, content }),
  fc.record({ kind: fc.constantFrom("replace", "append"), path, content, expected }),
  fc.record({ kind: fc.constant("delete"), path, expected }),
  fc.record({ kind: fc.constantFrom("read", "stat"), path }),
  fc.record({ kind: fc.constant("list"), path: folder, isShallow: fc.boolean(), limit: fc.constantFrom(1, 2, 100) }),
  fc.record({ kind: fc.constantFrom("search", "grep"), path: folder, text: fc.constantFrom("x", "yy") }),
  fc.record({ kind: fc.constant("snapshot:create"), path: folder }),
  fc.record({ kind: fc.constant("snapshot:restore"), path: folder, snapshot: fc.nat(3) }),
  fc.record({ kind: fc.constant("snapshot:list"), path: folder, limit: fc.constantFrom(1, 100) }),
);

describe.each(databaseKinds)("files on %s", (kind) => {
  const open = sharedDatabase(kind);

  test("answer like a model of them, whatever is done in whatever order", async () => {
    const database = await open();
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
        const world = fileWorld(database, limits);
        const model = fileModel(limits);
        const snapshots: string[] = [];
        for (const each of steps) {
          const right = model.versionOf(each.path);
          const said = await carryOut(world, each, right, snapshots);
          expect(said).toEqual(model.answer(each));
        }
        const everything = { kind: "list", path: "", isShallow: false, limit: 100 } as const;
        expect(await carryOut(world, everything, undefined, [])).toEqual(model.answer(everything));
      }),
      { numRuns: 200 },
    );
  });

  test("lose no update that expects a version, and repeat none", async () => {
    const [one, other] = await writers(open, kind);
    const mine = { namespaceId: newTenant(), owner: alice };
    await one.create(mine, ["count"], "0");
    const versions: number[] = [];
    const countUp = async (files: FileStore): Promise<void> => {
      for (let done = 0; done < 10;) {
        const { content: now, version } = (await files.read(mine, ["count"])) ?? { content: "", version: 0 };
        const next = await files.replace(mine, ["count"], String(Number(now) + 1), version).catch(conflict);
        if (next === undefined) continue;
        versions.push(next.version);
        done += 1;
      }
    };
    await Promise.all([one, other, one, other].map(countUp));
    expect(await one.read(mine, ["count"])).toEqual({ content: "40", version: 41 });
    expect(new Set(versions).size).toBe(40);
  });

  test("never repeat a version while two create and delete the same file", async () => {
    const [one, other] = await writers(open, kind);
    const mine = { namespaceId: newTenant(), owner: alice };
    const versions: number[] = [];
    const comeAndGo = async (files: FileStore): Promise<void> => {
      for (let round = 0; round < 10; round += 1) {
        const made = await files.create(mine, ["a"], "x").catch(conflict);
        const gone = await files.delete(mine, ["a"]).catch(conflict);
        versions.push(...[made?.version, gone].filter((version) => version !== undefined));
      }
    };
    await Promise.all([one, other, one, other].map(comeAndGo));
    expect(versions.toSorted((first, second) => first - second)).toEqual(versions.map((_, place) => place + 1));
  });

  test("hold two restores and a writer apart: in the end one state is whole", async () => {
    const [one, other] = await writers(open, kind);
    const mine = { namespaceId: newTenant(), owner: alice };
    const coverage = { covers: () => Promise.resolve(true), signal: new AbortController().signal };
    const names = ["a", "b", "c", "d"];
    const snapshots: string[] = [];
    for (const state of ["first", "second"]) {
      for (const name of names) await one.write(mine, [name], state);
      snapshots.push((await one.snapshots.create(mine, [], undefined, coverage)).id);
    }
    const [first = "", second = ""] = snapshots;
    for (let round = 0; round < 5; round += 1) {
      await Promise.all([
        one.snapshots.restore(mine, [], first, coverage),
        other.snapshots.restore(mine, [], second, coverage),
      ]);
      const contents = await Promise.all(names.map(async (name) => (await one.read(mine, [name]))?.content));
      expect(new Set(contents).size).toBe(1);
    }
  });
});

/** Two stores: of two hosts where there can be two, else of one. */
async function writers(
  open: () => Promise<Parameters<typeof createFileStore>[0]>,
  kind: "sqlite" | "postgres",
): Promise<[FileStore, FileStore]> {
  const [one, other] = kind === "postgres" ? await openPair() : [await open(), await open()];
  return [createFileStore(one), createFileStore(other)];
}

/** Undefined for a refusal, which another attempt may not meet; anything else is a fault. */
function conflict(error: unknown): undefined {
  const { code } = error as { code?: string };
  if (code === undefined || !["version_conflict", "already_exists", "not_found"].includes(code)) throw error;
}

/** Carries a step out and returns what is said about it, without what only chance or the clock decides. */
async function carryOut(
  world: FileWorld,
  each: FileStep,
  right: number | undefined,
  snapshots: string[],
): Promise<unknown> {
  switch (each.kind) {
    case "list": {
      const input = { limit: each.limit, ...(each.isShallow && { depth: 1 }) };
      const pages = await pagesOf(world, "list", each.path, { input });
      return pages.flatMap(({ entries }) => (entries as JsonObject[]).map(plain));
    }
    case "search": {
      const { results } = await world.ask("search", each.path, { input: { query: each.text } });
      return (results as JsonObject[]).map(({ path: found }) => found).toSorted();
    }
    case "grep": {
      const { matches } = await world.ask("grep", each.path, { input: { pattern: each.text } });
      return (matches as JsonObject[]).map(({ path: found }) => found);
    }
    case "snapshot:create": {
      const made = await world.ask("snapshot:create", each.path);
      if (made["id"] !== undefined) snapshots.push(String(made["id"]));
      return plain(made);
    }
    case "snapshot:list": {
      const pages = await pagesOf(world, "snapshot:list", each.path, { input: { limit: each.limit } });
      return pages.flatMap(({ snapshots: some }) =>
        (some as JsonObject[]).map(({ id }) => snapshots.indexOf(String(id))),
      );
    }
    case "snapshot:restore":
      return plain(await world.ask(each.kind, each.path, { input: { snapshot: snapshots[each.snapshot] ?? "none" } }));
    case "read":
    case "stat":
      return plain(await world.ask(each.kind, each.path));
    default: {
      const wanted = "expected" in each && each.expected !== "none";
      const version = (right ?? 1) + ("expected" in each && each.expected === "wrong" ? 1 : 0);
      const input = {
        ...("content" in each && { content: each.content }),
        ...(wanted && { expectedVersion: version }),
      };
      return plain(await world.ask(each.kind, each.path, { input }));
    }
  }
}

function plain({
  id: _id,
  message: _message,
  updatedAt: _updatedAt,
  createdAt: _createdAt,
  ...rest
}: JsonObject): JsonObject {
  return rest;
}
