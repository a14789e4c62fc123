import { type Kysely, sql } from "kysely";
import { describe, expect, onTestFinished, test } from "vitest";
import { databaseKinds, newLocation, openHost } from "../../../test/databases.ts";
import { connectTo, migrationsOf } from "../../../test/old-database.ts";
import { alice, neverAborted } from "../../../test/records.ts";
import { createFileStore, type FileStore } from "../../files/file-store.ts";
import type { Database } from "../database.ts";
import { migrate } from "../migrate.ts";
import type { Schema } from "../schema.ts";

const mine = { namespaceId: "tenant-1", owner: alice };

/** A database as it was before files had a history, and a way to migrate it further. */
interface OldDatabase {
  db: Kysely<Schema>;
  migrateTo(name: string): Promise<unknown>;
  write(path: string, content: string, version: number): Promise<void>;
  close(): Promise<void>;
}

async function openOld(kind: Database["kind"], location: string): Promise<OldDatabase> {
  const db = connectTo(kind, location);
  let isOpen = true;
  const close = async (): Promise<void> => {
    if (isOpen) await db.destroy();
    isOpen = false;
  };
  onTestFinished(close);
  const migrateTo = async (name: string): Promise<unknown> => {
    const all = migrationsOf[kind];
    const until = all.slice(0, all.findIndex((migration) => migration.name === name) + 1);
    return migrate(db, kind, until).catch((error: unknown) => error);
  };
  expect(await migrateTo("0002-files")).toBeUndefined();
  return {
    db,
    migrateTo,
    async write(path, content, version) {
      await sql`insert into files (namespace_id, owner, path, version, content, updated_at)
        values ('tenant-1', 'human:alice', ${path}, ${version}, ${content}, '2026-01-01T00:00:00.000Z')`.execute(db);
    },
    close,
  };
}

async function found(files: FileStore, word: string): Promise<string[]> {
  const matches = await files.match(mine, [], { words: [], prefix: word }, neverAborted);
  return matches.map(({ path }) => path).toSorted();
}

describe.each(databaseKinds)("files from before their history on %s", (kind) => {
  test("are all there, as they were, and can be searched", async () => {
    const location = await newLocation(kind);
    const old = await openOld(kind, location);
    await old.write("notes/todo.md", JSON.stringify("water the plants \u0000 \ud800"), 7);
    for (let n = 0; n < 250; n += 1) await old.write(`many/${n}`, JSON.stringify(`number ${n}`), 1);
    await old.close();

    const files = createFileStore(await openHost(location));
    expect(await files.read(mine, ["notes", "todo.md"])).toEqual({
      content: "water the plants \u0000 \ud800",
      version: 7,
    });
    expect(await files.stat(mine, ["notes", "todo.md"])).toEqual({
      path: ["notes", "todo.md"],
      version: 7,
      size: 22,
      updatedAt: "2026-01-01T00:00:00.000Z",
    });
    expect(await found(files, "plan")).toEqual(["notes/todo.md"]);
    expect(await found(files, "number")).toHaveLength(250);
    expect(await files.append(mine, ["notes", "todo.md"], "!")).toMatchObject({ version: 8 });
    expect(await files.delete(mine, ["many", "0"])).toBe(2);
    expect(await found(files, "number")).toHaveLength(249);
  });

  test("are not lost when the move fails: it starts over when the fault is gone", async () => {
    const old = await openOld(kind, await newLocation(kind));
    await old.write("a", JSON.stringify("stored"), 1);
    await old.write("b", "no JSON", 1);
    expect(await old.migrateTo("0003-file-history")).toBeInstanceOf(SyntaxError);
    await sql`update files set content = '"repaired"' where path = 'b'`.execute(old.db);
    expect(await old.migrateTo("0003-file-history")).toBeUndefined();
    const moved = await sql`select path, version from files order by path`.execute(old.db);
    expect(moved.rows).toEqual([
      { path: "a", version: 1 },
      { path: "b", version: 1 },
    ]);
  });
});

test("files are moved once on SQLite, even if the process died before that was written down", async () => {
  const old = await openOld("sqlite", await newLocation("sqlite"));
  await old.write("a", JSON.stringify("stored"), 3);
  expect(await old.migrateTo("0003-file-history")).toBeUndefined();
  await sql`delete from kysely_migration where name = '0003-file-history'`.execute(old.db);
  expect(await old.migrateTo("0003-file-history")).toBeUndefined();
  const moved = await sql`select path, version from files`.execute(old.db);
  expect(moved.rows).toEqual([{ path: "a", version: 3 }]);
});
