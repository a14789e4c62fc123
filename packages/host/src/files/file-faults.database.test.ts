import { describe, expect, test } from "vitest";
import { databaseKinds, newTenant, sharedDatabase } from "../../test/databases.ts";
import { failingAt, recordStatements } from "../../test/watched-database.ts";
import { alice } from "../../test/records.ts";
import type { Database } from "../storage/database.ts";
import type { FileOwner } from "./file-columns.ts";
import { createFileStore, type FileStore } from "./file-store.ts";

const coverage = { covers: () => Promise.resolve(true), signal: new AbortController().signal };

/** What an owner has before the change under test. */
interface Seed {
  mine: FileOwner;
  snapshot: string;
}

const changes: { name: string; run(files: FileStore, seed: Seed): Promise<unknown> }[] = [
  { name: "create", run: (files, { mine }) => files.create(mine, ["new"], "new") },
  { name: "create, again", run: (files, { mine }) => files.create(mine, ["gone"], "new") },
  { name: "replace", run: (files, { mine }) => files.replace(mine, ["seeded"], "new") },
  { name: "append", run: (files, { mine }) => files.append(mine, ["seeded"], "new") },
  { name: "delete", run: (files, { mine }) => files.delete(mine, ["seeded"]) },
  { name: "snapshots.create", run: (files, { mine }) => files.snapshots.create(mine, [], "label", coverage) },
  {
    name: "snapshots.restore",
    run: (files, { mine, snapshot }) => files.snapshots.restore(mine, [], snapshot, coverage),
  },
];

async function seed(database: Database): Promise<Seed> {
  const files = createFileStore(database);
  const mine: FileOwner = { namespaceId: newTenant(), owner: alice };
  await files.create(mine, ["gone"], "before");
  const { id: snapshot } = await files.snapshots.create(mine, [], undefined, coverage);
  await files.delete(mine, ["gone"]);
  await files.create(mine, ["seeded"], "seeded");
  return { mine, snapshot };
}

/** Everything that the database has of an owner, and what is found there. */
async function stateOf(database: Database, { mine }: Seed): Promise<string> {
  const state: unknown[] = [];
  for (const table of ["files", "contents", "snapshots", "captures"] as const) {
    const rows = await database.db.selectFrom(table).selectAll().where("namespace_id", "=", mine.namespaceId).execute();
    state.push([table, rows.map((row) => JSON.stringify(row)).toSorted()]);
  }
  for (const prefix of ["new", "seeded", "before"]) {
    state.push([prefix, await createFileStore(database).match(mine, [], { words: [], prefix }, coverage.signal)]);
  }
  return JSON.stringify(state, null, 1);
}

function refuses(change: Promise<unknown>): Promise<boolean> {
  return change.then(
    () => false,
    () => true,
  );
}

describe.each(databaseKinds)("when a statement fails on %s", (kind) => {
  const open = sharedDatabase(kind);

  for (const { name, run } of changes) {
    test(`${name} rejects, whichever it is: nothing is half written, and it can be done again`, async () => {
      const database = await open();
      const { database: recorded, statements } = recordStatements(database);
      await run(createFileStore(recorded), await seed(database));
      expect(statements.at(-1)).toBe("commit");
      for (const [place, statement] of statements.entries()) {
        const seeded = await seed(database);
        const before = await stateOf(database, seeded);
        const files = createFileStore(failingAt(database, place + 1, "before"));
        const isRefused = await refuses(run(files, seeded));
        const isUndone = (await stateOf(database, seeded)) === before;
        expect({ statement, isRefused, isUndone }).toEqual({ statement, isRefused: true, isUndone: true });
        await run(files, seeded);
        expect(await stateOf(database, seeded)).not.toBe(before);
      }
    });

    test(`${name} rejects when an answer is lost: only a whole change can have happened`, async () => {
      const database = await open();
      const { database: recorded, statements } = recordStatements(database);
      await run(createFileStore(recorded), await seed(database));
      const last = statements.length - 1;
      for (const [place, statement] of statements.entries()) {
        // An answer is lost with its connection, and a transaction that only began is lost with it.
        if (statement === "begin") continue;
        const seeded = await seed(database);
        const before = await stateOf(database, seeded);
        const files = createFileStore(failingAt(database, place + 1, "after"));
        const isRefused = await refuses(run(files, seeded));
        const isUndone = (await stateOf(database, seeded)) === before;
        expect({ statement, isRefused, isUndone }).toEqual({ statement, isRefused: true, isUndone: place !== last });
      }
    });
  }
});
