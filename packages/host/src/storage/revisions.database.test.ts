import { describe, expect, test } from "vitest";
import { databaseKinds, openFresh, openPair } from "../../test/databases.ts";
import { failingAt, recordStatements } from "../../test/watched-database.ts";
import type { WatchedHistory } from "./history/history.ts";
import { currentBasis } from "./read-basis.ts";
import { createReadCache } from "./read-cache.ts";
import { createRevisions } from "./revisions.ts";

describe.each(databaseKinds)("revisions on %s", (kind) => {
  test("a write ends the revision, and nothing else does", async () => {
    const revisions = createRevisions(await openFresh(kind));
    const first = await revisions.current();
    expect(await revisions.current()).toBe(first);
    await revisions.write(() => Promise.resolve());
    expect(await revisions.current()).not.toBe(first);
  });

  test("a write gives back what the change returns", async () => {
    const revisions = createRevisions(await openFresh(kind));
    expect(await revisions.write(() => Promise.resolve("done"))).toBe("done");
  });

  test("a change that throws is undone", async () => {
    const database = await openFresh(kind);
    const broken = createRevisions(database).write(async (transaction) => {
      await transaction.insertInto("uses").values({ namespace_id: "tenant-1", grant_id: "g", used: 1 }).execute();
      throw new Error("changed my mind");
    });
    await expect(broken).rejects.toThrow("changed my mind");
    expect(await database.db.selectFrom("uses").selectAll().execute()).toEqual([]);
  });

  test("a commit whose answer is lost still ends the revision here: it may have happened", async () => {
    const database = await openFresh(kind);
    const statements = 3;
    const revisions = createRevisions(failingAt(database, statements, "after"));
    const before = kind === "sqlite" ? await revisions.current() : 0;
    await expect(revisions.write(() => Promise.resolve())).rejects.toThrow(Error);
    expect(await revisions.current()).not.toBe(before);
  });
});

describe("revisions on a PostgreSQL that two hosts share", () => {
  test("a write through one ends the revision on the other", async () => {
    const [here, there] = (await openPair()).map(createRevisions);
    const before = await there?.current();
    await here?.write(() => Promise.resolve());
    expect(await there?.current()).not.toBe(before);
  });

  test("callers who ask at the same instant share one query, and one who asks later does not", async () => {
    const { database, statements } = recordStatements(await openFresh("postgres"));
    const revisions = createRevisions(database);
    await Promise.all([revisions.current(), revisions.current(), revisions.current()]);
    expect(statements).toHaveLength(1);
    await revisions.current();
    expect(statements).toHaveLength(2);
  });

  test("a call reads what is cached without asking, and asks at its end unless its write has", async () => {
    const { database, statements } = recordStatements(await openFresh("postgres"));
    const revisions = createRevisions(database);
    const cache = createReadCache(revisions);
    const read = () => cache.get("key", () => Promise.resolve("value"));
    await read();
    await read();
    expect(statements.splice(0)).toHaveLength(2);
    expect(await revisions.attempt(() => Promise.all([read(), read()]))).toEqual(["value", "value"]);
    expect(statements.splice(0)).toHaveLength(1);
    const confirmed = revisions.attempt(async () => {
      const value = await read();
      currentBasis()?.confirm();
      return value;
    });
    expect(await confirmed).toBe("value");
    expect(statements).toEqual([]);
  });

  test("a call asks before it reads when the server is another one than the cached values are from", async () => {
    const { database, statements } = recordStatements(await openFresh("postgres"));
    const revisions = createRevisions(database);
    const cache = createReadCache(revisions);
    const read = (value: string) => cache.get("key", () => Promise.resolve(value));
    await read("of the server before");
    await (database.history as WatchedHistory).verify(database.db, { id: "another" });
    statements.length = 0;
    expect(await revisions.attempt(() => read("there"))).toBe("there");
    expect(statements).toHaveLength(1);
  });

  test("a call after another host's write runs again on what is there now, whatever it came to first", async () => {
    const [here, there] = (await openPair()).map(createRevisions);
    if (here === undefined || there === undefined) throw new Error("There are two hosts.");
    const cache = createReadCache(here);
    let value = "old";
    const read = () => cache.get("key", () => Promise.resolve(value));
    await read();
    const refused = new Error("refused");
    for (const isRefused of [false, true]) {
      const seen: string[] = [];
      await there.write(() => Promise.resolve(void (value = `${value}er`)));
      const attempt = here.attempt(async () => {
        seen.push(await read());
        if (isRefused) throw refused;
      });
      expect(await Promise.allSettled([attempt])).toMatchObject([{ status: isRefused ? "rejected" : "fulfilled" }]);
      expect(seen).toEqual([value.slice(0, -2), value]);
    }
  });

  test("a call that reads what is not cached has asked by that, and what it reads next counts as well", async () => {
    const [here, there] = (await openPair()).map(createRevisions);
    if (here === undefined || there === undefined) throw new Error("There are two hosts.");
    const cache = createReadCache(here);
    let value = "old";
    await cache.get("cached", () => Promise.resolve(value));
    await there.write(() => Promise.resolve(void (value = "new")));
    const found = await here.attempt(async () => {
      const cached = await cache.get("cached", () => Promise.resolve(value));
      return [cached, await cache.get("other", () => Promise.resolve(value))];
    });
    expect(found).toEqual(["new", "new"]);
  });

  test("who asks after a write was acknowledged never gets an answer from before it", async () => {
    const [here, there] = (await openPair()).map(createRevisions);
    for (let round = 0; round < 20; round += 1) {
      const before = await there?.current();
      const asking = there?.current();
      await here?.write(() => Promise.resolve());
      expect(await there?.current()).not.toBe(before);
      await asking;
    }
  });
});
