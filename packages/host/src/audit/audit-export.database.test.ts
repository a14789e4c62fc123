import { readFileSync, statSync, writeFileSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { databaseKinds, newTenant, openPair, sharedDatabase, temporaryFolder } from "../../test/databases.ts";
import { auditEvent } from "../../test/records.ts";
import { auditStoreOf } from "../../test/single-stores.ts";
import type { Database } from "../storage/index.ts";
import { removeExported, type ExportedHead } from "./anchors.ts";
import { beginExport, continueExport, exportPages, type ExportRange } from "./audit-export.ts";
import { verifyExport, writeExport } from "./export-file.ts";
import { openSigningKey } from "./signing-key.ts";

const now = new Date("2026-06-01T00:00:00.000Z");

/** A tenant with events at these times, a folder with a key, and ways to export and verify. */
async function openAuditLog(database: Database, times: readonly string[]) {
  const namespaceId = newTenant();
  const folder = temporaryFolder();
  const key = openSigningKey(join(folder, "key.pem"));
  const audit = auditStoreOf(database);
  const record = async (at: string, id = "event") => audit.record(auditEvent(id, { namespaceId, at }));
  for (const [place, at] of times.entries()) await record(at, `event-${place + 1}`);
  const file = join(folder, "exports", "audit-log.jsonl");
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
    const auditLog = await audit.verify(namespaceId, { anchors });
    return {
      rows: auditLog.rows,
      anchored: anchors.map(({ sequence }) => sequence),
      why: (broken ?? auditLog.broken)?.why,
    };
  };
  return { namespaceId, folder, key, audit, record, file, source, write, lines, rewrite, verify };
}

const days = (count: number): string[] =>
  Array.from({ length: count }, (_, place) => new Date(Date.UTC(2026, 0, place + 1)).toISOString());

const sequenceOf = (line: string): number => (JSON.parse(line) as { sequence: number }).sequence;

describe.each(databaseKinds)("an export on %s", (kind) => {
  const open = sharedDatabase(kind);

  test("has a header, every row with its chain, and a signed end, for its owner alone", async () => {
    const auditLog = await openAuditLog(await open(), days(3));
    await auditLog.write();
    const [header = "", first = "", , , end = ""] = auditLog.lines();
    expect(JSON.parse(header)).toEqual({
      kind: "turnpike.audit.export",
      version: 1,
      namespaceId: auditLog.namespaceId,
      at: "2026-06-01T00:00:00.000Z",
      from: [{ strand: 0, sequence: 0, hash: "0".repeat(64) }],
    });
    expect(JSON.parse(first)).toMatchObject({
      strand: 0,
      sequence: 1,
      previous: "0".repeat(64),
      event: { id: "event-1", namespaceId: auditLog.namespaceId },
    });
    const { heads } = await auditLog.audit.verify(auditLog.namespaceId);
    expect(JSON.parse(end)).toMatchObject({ kind: "turnpike.audit.export.end", rows: 3, heads, key: auditLog.key.id });
    expect(await verifyExport(auditLog.file, auditLog.key)).toMatchObject({ rows: 3, heads });
    expect(statSync(auditLog.file).mode & 0o777).toBe(0o600);
  });

  test("of several pages is whole, and one of no rows too", async () => {
    const auditLog = await openAuditLog(await open(), []);
    await Promise.all(Array.from({ length: 450 }, (_, place) => auditLog.record(days(1)[0] ?? "", `event-${place}`)));
    expect((await auditLog.write()).map(({ sequence }) => sequence)).toEqual([200, 400, 450]);
    expect(await verifyExport(auditLog.file, auditLog.key)).toMatchObject({ rows: 450 });
    const empty = await openAuditLog(await open(), []);
    await empty.write();
    expect(await verifyExport(empty.file, empty.key)).toMatchObject({ rows: 0, heads: [] });
  });

  test("of words that other readers take for the end of a line is whole", async () => {
    const auditLog = await openAuditLog(await open(), []);
    for (const id of ["one\u2028two", "three\u2029four", "five\r\nsix"]) await auditLog.record(days(1)[0] ?? "", id);
    await auditLog.write();
    expect(await verifyExport(auditLog.file, auditLog.key)).toMatchObject({ rows: 3 });
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
      const auditLog = await openAuditLog(await open(), days(4));
      await auditLog.write();
      auditLog.rewrite(row.tamper(auditLog.lines()));
      await expect(verifyExport(auditLog.file, auditLog.key)).rejects.toThrow(auditLog.file);
    });
  }

  test("that another key signed is found", async () => {
    const auditLog = await openAuditLog(await open(), days(2));
    await auditLog.write();
    const stranger = openSigningKey(join(auditLog.folder, "stranger.pem"));
    await expect(verifyExport(auditLog.file, stranger)).rejects.toThrow(
      /is signed by the key \w+, and the key that is/,
    );
  });

  test("is not made of an audit log that is broken, and leaves no file behind", async () => {
    const database = await open();
    const auditLog = await openAuditLog(database, days(3));
    const rows = database.db.updateTable("audit").where("namespace_id", "=", auditLog.namespaceId);
    await rows.set({ outcome: "denied" }).where("sequence", "=", 2).execute();
    await expect(auditLog.write()).rejects.toThrow("row 2 of strand 0 was changed or removed");
    expect(readdirSync(join(auditLog.folder, "exports"))).toEqual([]);
  });

  test("never replaces a file", async () => {
    const auditLog = await openAuditLog(await open(), days(1));
    await auditLog.write();
    await expect(auditLog.write()).rejects.toThrow("EEXIST");
    expect(readdirSync(join(auditLog.folder, "exports"))).toEqual(["audit-log.jsonl"]);
  });

  for (const { name, times, exported } of [
    { name: "ends before the first row that is not older", times: ["01-01", "01-02", "03-01", "01-03"], exported: 2 },
    { name: "has nothing when the first row is not older", times: ["03-01", "01-02"], exported: 0 },
    {
      name: "is not held up by a time that has not come yet",
      times: ["01-01", "12-01", "01-02", "03-01"],
      exported: 3,
    },
    { name: "ends before a row of this very instant", times: ["01-01", "06-01", "01-02"], exported: 1 },
    { name: "does not end with a time that has not come yet", times: ["01-01", "12-01", "12-02"], exported: 1 },
  ]) {
    test(`of what is older than an instant ${name}`, async () => {
      const auditLog = await openAuditLog(
        await open(),
        times.map((day) => `2026-${day}T00:00:00.000Z`),
      );
      await auditLog.write({ before: "2026-02-01T00:00:00.000Z" });
      expect(await verifyExport(auditLog.file, auditLog.key)).toMatchObject({ rows: exported });
    });
  }

  for (const before of [undefined, "2026-02-01T00:00:00.000Z"])
    test(`of at most so many rows has no more${before ? " of what is old enough" : ""}`, async () => {
      const auditLog = await openAuditLog(await open(), days(5));
      const [head] = await auditLog.write({ maxRows: 2, ...(before && { before }) });
      expect(head?.sequence).toBe(2);
      expect(await verifyExport(auditLog.file, auditLog.key)).toMatchObject({ rows: 2 });
    });

  test("of what is older than an instant has all of it, also when that is more than a page", async () => {
    const auditLog = await openAuditLog(await open(), []);
    await Promise.all(Array.from({ length: 201 }, (_, place) => auditLog.record(days(1)[0] ?? "", `event-${place}`)));
    await auditLog.record("2026-03-01T00:00:00.000Z", "newer");
    await auditLog.write({ before: "2026-02-01T00:00:00.000Z" });
    expect(await verifyExport(auditLog.file, auditLog.key)).toMatchObject({ rows: 201 });
  });

  test("signs no head that is not in the audit log, whatever place it is asked to continue from", async () => {
    const auditLog = await openAuditLog(await open(), days(2));
    const { next } = await beginExport(auditLog.source, { now });
    const [end] = next.ends;
    if (end === undefined) throw new Error("There is nothing to export.");
    const forged = { ...next, done: 1, ends: [{ ...end, hash: "f".repeat(64) }] };
    await expect(continueExport(auditLog.source, forged)).rejects.toThrow("row 2 of strand 0 was changed or removed");
    const begun = { ...next, done: 1, from: [{ ...end, sequence: 1 }] };
    await expect(continueExport(auditLog.source, begun)).rejects.toThrow("rows were removed meanwhile");
  });
});

describe.each(databaseKinds)("an audit log on %s whose first rows were exported and removed", (kind) => {
  const open = sharedDatabase(kind);

  /** Five rows, of which the first three went. */
  async function anchoredAuditLog(database: Database) {
    const auditLog = await openAuditLog(database, days(5));
    const heads = await auditLog.write({ before: "2026-01-04T00:00:00.000Z" });
    for (const head of heads) await removeExported(database, auditLog.namespaceId, head, auditLog.key);
    const rows = () => database.db.selectFrom("audit").selectAll().where("namespace_id", "=", auditLog.namespaceId);
    return { ...auditLog, rows };
  }

  test("is whole from its anchor on, and continues", async () => {
    const database = await open();
    const auditLog = await anchoredAuditLog(database);
    expect((await auditLog.rows().execute()).map(({ sequence }) => sequence).toSorted()).toEqual([4, 5]);
    expect(await auditLog.verify()).toEqual({ rows: 2, anchored: [3], why: undefined });
    await auditLog.record("2026-01-06T00:00:00.000Z");
    expect(await auditLog.verify()).toEqual({ rows: 3, anchored: [3], why: undefined });
    const { anchors } = await auditLog.audit.readAnchors(auditLog.namespaceId, auditLog.key);
    expect(anchors).toMatchObject([{ until: "2026-01-03T00:00:00.000Z" }]);
  });

  test("is exported from there on, and without its anchor looks like removed rows", async () => {
    const auditLog = await anchoredAuditLog(await open());
    await auditLog.write({}, `${auditLog.file}.2`);
    const lines = readFileSync(`${auditLog.file}.2`, "utf8").trimEnd().split("\n");
    expect(lines.slice(1, -1).map(sequenceOf)).toEqual([4, 5]);
    expect(await verifyExport(`${auditLog.file}.2`, auditLog.key)).toMatchObject({ rows: 2 });
    expect((await auditLog.audit.verify(auditLog.namespaceId)).broken?.why).toBe("row 1 was changed or removed");
  });

  test("may go entirely, and is whole then too", async () => {
    const database = await open();
    const auditLog = await anchoredAuditLog(database);
    for (const head of await auditLog.write({}, `${auditLog.file}.2`))
      await removeExported(database, auditLog.namespaceId, head, auditLog.key);
    expect(await auditLog.verify()).toEqual({ rows: 0, anchored: [5], why: undefined });
  });

  test("still fits heads that were signed before, and no others", async () => {
    const auditLog = await openAuditLog(await open(), days(5));
    const database = await open();
    const signed = await auditLog.write({});
    const all = await database.db
      .selectFrom("audit")
      .select(["strand", "sequence", "hash"])
      .where("namespace_id", "=", auditLog.namespaceId)
      .execute();
    const [head] = await auditLog.write({ before: "2026-01-04T00:00:00.000Z" }, `${auditLog.file}.2`);
    if (head === undefined) throw new Error("There is nothing to remove.");
    await removeExported(database, auditLog.namespaceId, head, auditLog.key);
    const { anchors } = await auditLog.audit.readAnchors(auditLog.namespaceId, auditLog.key);
    expect(signed).toHaveLength(1);
    expect(await auditLog.audit.findBreak(auditLog.namespaceId, all, anchors)).toBeUndefined();
    const other = all.map((row) => ({ ...row, hash: "f".repeat(64) }));
    for (const sequence of [3, 4])
      expect(
        (
          await auditLog.audit.findBreak(
            auditLog.namespaceId,
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
      const auditLog = await anchoredAuditLog(database);
      await row.tamper(database, auditLog.namespaceId);
      expect((await auditLog.verify()).why).toMatch(row.why);
    });
  }

  test("loses no row that is not the one that was exported", async () => {
    const database = await open();
    const auditLog = await openAuditLog(database, days(3));
    const [head] = await auditLog.write();
    const rows = database.db.updateTable("audit").where("namespace_id", "=", auditLog.namespaceId);
    await rows
      .set({ hash: "f".repeat(64) })
      .where("sequence", "=", 3)
      .execute();
    if (head === undefined) throw new Error("There is nothing to remove.");
    expect(await removeExported(database, auditLog.namespaceId, head, auditLog.key)).toBeUndefined();
    expect(
      await database.db.selectFrom("audit").select("id").where("namespace_id", "=", auditLog.namespaceId).execute(),
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
  const auditLog = await openAuditLog(one, days(2));
  const beside = auditStoreOf(other);
  for (const at of days(3)) await beside.record(auditEvent("beside", { namespaceId: auditLog.namespaceId, at }));
  const heads = await auditLog.write();
  expect(heads.map(({ strand, sequence }) => [strand, sequence])).toEqual([
    [0, 2],
    [1, 3],
  ]);
  expect(await verifyExport(auditLog.file, auditLog.key)).toMatchObject({ rows: 5 });
  for (const head of heads) {
    await removeExported(one, auditLog.namespaceId, head, auditLog.key);
    // A host that is late finds the rows gone, and moves no anchor back.
    expect(await removeExported(other, auditLog.namespaceId, head, auditLog.key)).toBeUndefined();
  }
  expect(await auditLog.verify()).toEqual({ rows: 0, anchored: [2, 3], why: undefined });
});
