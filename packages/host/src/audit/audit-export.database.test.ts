import { readFileSync, statSync, writeFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { databaseKinds, newTenant, openPair, sharedDatabase, temporaryFolder } from "../../test/databases.ts";
import { auditEvent } from "../../test/records.ts";
import type { Database } from "../storage/index.ts";
import { removeExported, type ExportedHead } from "./anchors.ts";
import { beginExport, continueExport, exportPages, type ExportRange } from "./audit-export.ts";
import { createAuditStore } from "./audit-store.ts";
import { verifyExport, writeExport } from "./export-file.ts";
import { openSigningKey } from "./signing-key.ts";

const now = new Date("2026-06-01T00:00:00.000Z");

/** A tenant with events at these times, a folder with a key, and ways to export and verify. */
async function openTrail(database: Database, times: readonly string[]) {
  const namespaceId = newTenant();
  const folder = temporaryFolder();
  const key = openSigningKey(join(folder, "key.pem"));
  const audit = createAuditStore(database);
  const record = async (at: string, id = "event") => audit.record(auditEvent(id, { namespaceId, at }));
  for (const [place, at] of times.entries()) await record(at, `event-${place + 1}`);
  const file = join(folder, "exports", "trail.jsonl");
  const source = { db: database.db, namespaceId, key };
  const write = async (range: Partial<ExportRange> = {}, to = file): Promise<ExportedHead[]> => {
    const heads: ExportedHead[] = [];
    async function* pages() {
      for await (const page of exportPages(source, { now, ...range })) {
        if (page.head) heads.push(page.head);
        yield page;
      }
    }
    await writeExport(to, pages());
    return heads;
  };
  const lines = (): string[] => readFileSync(file, "utf8").trimEnd().split("\n");
  const rewrite = (changed: readonly string[]): void => writeFileSync(file, `${changed.join("\n")}\n`);
  const verify = async () => {
    const { anchors, broken } = await audit.readAnchors(namespaceId, key);
    const trail = await audit.verify(namespaceId, { anchors });
    return { rows: trail.rows, anchored: anchors.map(({ sequence }) => sequence), why: (broken ?? trail.broken)?.why };
  };
  return { namespaceId, folder, key, audit, record, file, source, write, lines, rewrite, verify };
}

const days = (count: number): string[] =>
  Array.from({ length: count }, (_, place) => new Date(Date.UTC(2026, 0, place + 1)).toISOString());

const sequenceOf = (line: string): number => (JSON.parse(line) as { sequence: number }).sequence;

describe.each(databaseKinds)("an export on %s", (kind) => {
  const open = sharedDatabase(kind);

  test("has a header, every row with its chain, and a signed end, for its owner alone", async () => {
    const trail = await openTrail(await open(), days(3));
    await trail.write();
    const [header = "", first = "", , , end = ""] = trail.lines();
    expect(JSON.parse(header)).toEqual({
      kind: "turnpike.audit.export",
      version: 1,
      namespaceId: trail.namespaceId,
      at: "2026-06-01T00:00:00.000Z",
      from: [{ strand: 0, sequence: 0, hash: "0".repeat(64) }],
    });
    expect(JSON.parse(first)).toMatchObject({
      strand: 0,
      sequence: 1,
      previous: "0".repeat(64),
      event: { id: "event-1", namespaceId: trail.namespaceId },
    });
    const { heads } = await trail.audit.verify(trail.namespaceId);
    expect(JSON.parse(end)).toMatchObject({ kind: "turnpike.audit.export.end", rows: 3, heads, key: trail.key.id });
    expect(await verifyExport(trail.file, trail.key)).toMatchObject({ rows: 3, heads });
    expect(statSync(trail.file).mode & 0o777).toBe(0o600);
  });

  test("of several pages is whole, and one of no rows too", async () => {
    const trail = await openTrail(await open(), []);
    await Promise.all(Array.from({ length: 450 }, (_, place) => trail.record(days(1)[0] ?? "", `event-${place}`)));
    expect((await trail.write()).map(({ sequence }) => sequence)).toEqual([200, 400, 450]);
    expect(await verifyExport(trail.file, trail.key)).toMatchObject({ rows: 450 });
    const empty = await openTrail(await open(), []);
    await empty.write();
    expect(await verifyExport(empty.file, empty.key)).toMatchObject({ rows: 0, heads: [] });
  });

  test("of words that other readers take for the end of a line is whole", async () => {
    const trail = await openTrail(await open(), []);
    for (const id of ["one\u2028two", "three\u2029four", "five\r\nsix"]) await trail.record(days(1)[0] ?? "", id);
    await trail.write();
    expect(await verifyExport(trail.file, trail.key)).toMatchObject({ rows: 3 });
  });

  for (const row of [
    {
      name: "a changed event",
      tamper: (lines: string[]) => lines.with(2, String(lines[2]).replace("event-2", "event-9")),
    },
    { name: "a removed row", tamper: (lines: string[]) => lines.toSpliced(2, 1) },
    { name: "a removed last row", tamper: (lines: string[]) => lines.toSpliced(-2, 1) },
    { name: "a removed first row", tamper: (lines: string[]) => lines.toSpliced(1, 1) },
    { name: "a row that is there twice", tamper: (lines: string[]) => lines.toSpliced(2, 0, String(lines[2])) },
    {
      name: "two rows in the other order",
      tamper: (lines: string[]) => lines.with(1, String(lines[2])).with(2, String(lines[1])),
    },
    { name: "a removed end", tamper: (lines: string[]) => lines.slice(0, -1) },
    { name: "a removed header", tamper: (lines: string[]) => lines.slice(1) },
    { name: "a line behind the end", tamper: (lines: string[]) => [...lines, String(lines[1])] },
    {
      name: "a second event before the one that was signed",
      tamper: (lines: string[]) => lines.with(2, String(lines[2]).replace("{", '{"event":{"outcome":"denied"},')),
    },
    { name: "a line that is no JSON", tamper: (lines: string[]) => lines.with(2, "{") },
    {
      name: "another tenant's name",
      tamper: (lines: string[]) => lines.map((line) => line.replaceAll("own-tenant", "other")),
    },
    {
      name: "another time",
      tamper: (lines: string[]) => lines.with(0, String(lines[0]).replace("2026-06", "2026-07")),
    },
    { name: "nothing", tamper: () => [] },
  ]) {
    test(`with ${row.name} is found`, async () => {
      const trail = await openTrail(await open(), days(4));
      await trail.write();
      trail.rewrite(row.tamper(trail.lines()));
      await expect(verifyExport(trail.file, trail.key)).rejects.toThrow(trail.file);
    });
  }

  test("that somebody else signed is found", async () => {
    const trail = await openTrail(await open(), days(2));
    await trail.write();
    const stranger = openSigningKey(join(trail.folder, "stranger.pem"));
    await expect(verifyExport(trail.file, stranger)).rejects.toThrow(/is signed by the key \w+, and the key that is/);
  });

  test("is not made of a trail that is broken, and leaves no file behind", async () => {
    const database = await open();
    const trail = await openTrail(database, days(3));
    const rows = database.db.updateTable("audit").where("namespace_id", "=", trail.namespaceId);
    await rows.set({ outcome: "denied" }).where("sequence", "=", 2).execute();
    await expect(trail.write()).rejects.toThrow("row 2 of strand 0 was changed or removed");
    expect(readdirSync(join(trail.folder, "exports"))).toEqual([]);
  });

  test("never replaces a file", async () => {
    const trail = await openTrail(await open(), days(1));
    await trail.write();
    await expect(trail.write()).rejects.toThrow("EEXIST");
    expect(readdirSync(join(trail.folder, "exports"))).toEqual(["trail.jsonl"]);
  });

  for (const { name, times, exported } of [
    { name: "ends before the first row that is not older", times: ["01-01", "01-02", "03-01", "01-03"], exported: 2 },
    { name: "has nothing when the first row is not older", times: ["03-01", "01-02"], exported: 0 },
    {
      name: "is not held up by a time that has not come yet",
      times: ["01-01", "12-01", "01-02", "03-01"],
      exported: 3,
    },
    { name: "ends before a row of this very moment", times: ["01-01", "06-01", "01-02"], exported: 1 },
    { name: "does not end with a time that has not come yet", times: ["01-01", "12-01", "12-02"], exported: 1 },
  ]) {
    test(`of what is older than an instant ${name}`, async () => {
      const trail = await openTrail(
        await open(),
        times.map((day) => `2026-${day}T00:00:00.000Z`),
      );
      await trail.write({ before: "2026-02-01T00:00:00.000Z" });
      expect(await verifyExport(trail.file, trail.key)).toMatchObject({ rows: exported });
    });
  }

  for (const before of [undefined, "2026-02-01T00:00:00.000Z"])
    test(`of at most so many rows has no more${before ? " of what is old enough" : ""}`, async () => {
      const trail = await openTrail(await open(), days(5));
      const [head] = await trail.write({ maxRows: 2, ...(before && { before }) });
      expect(head?.sequence).toBe(2);
      expect(await verifyExport(trail.file, trail.key)).toMatchObject({ rows: 2 });
    });

  test("of what is older than an instant has all of it, also when that is more than a page", async () => {
    const trail = await openTrail(await open(), []);
    await Promise.all(Array.from({ length: 201 }, (_, place) => trail.record(days(1)[0] ?? "", `event-${place}`)));
    await trail.record("2026-03-01T00:00:00.000Z", "newer");
    await trail.write({ before: "2026-02-01T00:00:00.000Z" });
    expect(await verifyExport(trail.file, trail.key)).toMatchObject({ rows: 201 });
  });

  test("signs no head that is not on the trail, whatever place it is asked to go on from", async () => {
    const trail = await openTrail(await open(), days(2));
    const { next } = await beginExport(trail.source, { now });
    const [end] = next.ends;
    if (end === undefined) throw new Error("There is nothing to export.");
    const forged = { ...next, done: 1, ends: [{ ...end, hash: "f".repeat(64) }] };
    await expect(continueExport(trail.source, forged)).rejects.toThrow("row 2 of strand 0 was changed or removed");
    const begun = { ...next, done: 1, from: [{ ...end, sequence: 1 }] };
    await expect(continueExport(trail.source, begun)).rejects.toThrow("rows were removed meanwhile");
  });
});

describe.each(databaseKinds)("a trail on %s whose first rows were exported and removed", (kind) => {
  const open = sharedDatabase(kind);

  /** Five rows, of which the first three went. */
  async function anchoredTrail(database: Database) {
    const trail = await openTrail(database, days(5));
    const heads = await trail.write({ before: "2026-01-04T00:00:00.000Z" });
    for (const head of heads) await removeExported(database, trail.namespaceId, head, trail.key);
    const rows = () => database.db.selectFrom("audit").selectAll().where("namespace_id", "=", trail.namespaceId);
    return { ...trail, rows };
  }

  test("is whole from its anchor on, and goes on", async () => {
    const database = await open();
    const trail = await anchoredTrail(database);
    expect((await trail.rows().execute()).map(({ sequence }) => sequence).toSorted()).toEqual([4, 5]);
    expect(await trail.verify()).toEqual({ rows: 2, anchored: [3], why: undefined });
    await trail.record("2026-01-06T00:00:00.000Z");
    expect(await trail.verify()).toEqual({ rows: 3, anchored: [3], why: undefined });
    const { anchors } = await trail.audit.readAnchors(trail.namespaceId, trail.key);
    expect(anchors).toMatchObject([{ until: "2026-01-03T00:00:00.000Z" }]);
  });

  test("is exported from there on, and without its anchor looks cut", async () => {
    const trail = await anchoredTrail(await open());
    await trail.write({}, `${trail.file}.2`);
    const lines = readFileSync(`${trail.file}.2`, "utf8").trimEnd().split("\n");
    expect(lines.slice(1, -1).map(sequenceOf)).toEqual([4, 5]);
    expect(await verifyExport(`${trail.file}.2`, trail.key)).toMatchObject({ rows: 2 });
    expect((await trail.audit.verify(trail.namespaceId)).broken?.why).toBe("row 1 was changed or removed");
  });

  test("may go entirely, and is whole then too", async () => {
    const database = await open();
    const trail = await anchoredTrail(database);
    for (const head of await trail.write({}, `${trail.file}.2`))
      await removeExported(database, trail.namespaceId, head, trail.key);
    expect(await trail.verify()).toEqual({ rows: 0, anchored: [5], why: undefined });
  });

  test("still fits heads that were signed before, and no others", async () => {
    const trail = await openTrail(await open(), days(5));
    const database = await open();
    const signed = await trail.write({});
    const all = await database.db
      .selectFrom("audit")
      .select(["strand", "sequence", "hash"])
      .where("namespace_id", "=", trail.namespaceId)
      .execute();
    const [head] = await trail.write({ before: "2026-01-04T00:00:00.000Z" }, `${trail.file}.2`);
    if (head === undefined) throw new Error("There is nothing to remove.");
    await removeExported(database, trail.namespaceId, head, trail.key);
    const { anchors } = await trail.audit.readAnchors(trail.namespaceId, trail.key);
    expect(signed).toHaveLength(1);
    expect(await trail.audit.findBreak(trail.namespaceId, all, anchors)).toBeUndefined();
    const other = all.map((row) => ({ ...row, hash: "f".repeat(64) }));
    for (const sequence of [3, 4])
      expect(
        (
          await trail.audit.findBreak(
            trail.namespaceId,
            other.filter((row) => row.sequence === sequence),
            anchors,
          )
        )?.why,
      ).toContain(`row ${sequence} or one before it was changed`);
  });

  for (const row of [
    {
      name: "an anchor that was moved on, with the rows before it removed",
      async tamper({ db }: Database, tenant: string) {
        const { hash } = await db
          .selectFrom("audit")
          .select("hash")
          .where("namespace_id", "=", tenant)
          .where("sequence", "=", 4)
          .executeTakeFirstOrThrow();
        await db.deleteFrom("audit").where("namespace_id", "=", tenant).where("sequence", "=", 4).execute();
        await changeAnchor(db, tenant, (anchor) => ({ ...anchor, sequence: 4, hash }));
      },
      why: /^the anchor of strand 0 was changed: its signature is not the key's$/,
    },
    {
      name: "an anchor of another tenant",
      tamper: ({ db }: Database, tenant: string) =>
        changeAnchor(db, tenant, (anchor) => ({ ...anchor, namespaceId: "other" })),
      why: /^the anchor of strand 0 was changed: it is not this strand's$/,
    },
    {
      name: "an anchor that is nonsense",
      tamper: ({ db }: Database, tenant: string) =>
        db.updateTable("audit_anchors").set({ content: "{" }).where("namespace_id", "=", tenant).execute(),
      why: /^the anchor of strand 0 was changed: it is not this strand's$/,
    },
    {
      name: "a removed anchor",
      tamper: ({ db }: Database, tenant: string) =>
        db.deleteFrom("audit_anchors").where("namespace_id", "=", tenant).execute(),
      why: /^row 1 was changed or removed$/,
    },
    {
      name: "a removed row behind the anchor",
      tamper: ({ db }: Database, tenant: string) =>
        db.deleteFrom("audit").where("namespace_id", "=", tenant).where("sequence", "=", 4).execute(),
      why: /^row 4 was changed or removed$/,
    },
    {
      name: "a row that came back before the anchor",
      tamper: async ({ db }: Database, tenant: string) => {
        const rows = db.selectFrom("audit").selectAll().where("namespace_id", "=", tenant);
        const later = await rows.where("sequence", "=", 4).executeTakeFirstOrThrow();
        await db
          .insertInto("audit")
          .values({ ...later, sequence: 2 })
          .execute();
      },
      why: /^row 2 is there, although rows up to 3 were exported and removed$/,
    },
  ]) {
    test(`shows ${row.name}`, async () => {
      const database = await open();
      const trail = await anchoredTrail(database);
      await row.tamper(database, trail.namespaceId);
      expect((await trail.verify()).why).toMatch(row.why);
    });
  }

  test("loses no row that is not the one that was exported", async () => {
    const database = await open();
    const trail = await openTrail(database, days(3));
    const [head] = await trail.write();
    const rows = database.db.updateTable("audit").where("namespace_id", "=", trail.namespaceId);
    await rows
      .set({ hash: "f".repeat(64) })
      .where("sequence", "=", 3)
      .execute();
    if (head === undefined) throw new Error("There is nothing to remove.");
    expect(await removeExported(database, trail.namespaceId, head, trail.key)).toBeUndefined();
    expect(
      await database.db.selectFrom("audit").select("id").where("namespace_id", "=", trail.namespaceId).execute(),
    ).toHaveLength(3);
  });
});

/** Changes the content of a tenant's anchor. */
async function changeAnchor(db: Database["db"], tenant: string, change: (anchor: object) => object): Promise<void> {
  const anchors = db.selectFrom("audit_anchors").select("content").where("namespace_id", "=", tenant);
  const { content } = await anchors.executeTakeFirstOrThrow();
  const changed = JSON.stringify(change(JSON.parse(content) as object));
  await db.updateTable("audit_anchors").set({ content: changed }).where("namespace_id", "=", tenant).execute();
}

test("the chains of two hosts on a PostgreSQL are in one export, and go one by one", async () => {
  const [one, other] = await openPair();
  const trail = await openTrail(one, days(2));
  const beside = createAuditStore(other);
  for (const at of days(3)) await beside.record(auditEvent("beside", { namespaceId: trail.namespaceId, at }));
  const heads = await trail.write();
  expect(heads.map(({ strand, sequence }) => [strand, sequence])).toEqual([
    [0, 2],
    [1, 3],
  ]);
  expect(await verifyExport(trail.file, trail.key)).toMatchObject({ rows: 5 });
  for (const head of heads) {
    await removeExported(one, trail.namespaceId, head, trail.key);
    // A host that is late finds the rows gone, and moves no anchor back.
    expect(await removeExported(other, trail.namespaceId, head, trail.key)).toBeUndefined();
  }
  expect(await trail.verify()).toEqual({ rows: 0, anchored: [2, 3], why: undefined });
});
