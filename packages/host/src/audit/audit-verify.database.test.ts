import { describe, expect, test } from "vitest";
import { databaseKinds, newTenant, sharedDatabase } from "../../test/databases.ts";
import { auditEvent, grant } from "../../test/records.ts";
import { auditStoreOf } from "../../test/single-stores.ts";
import { openStores } from "../compose/stores.ts";
import type { Database } from "../storage/database.ts";
import type { Schema } from "../storage/schema.ts";
import type { AuditPart } from "./audit-verify.ts";

/** A tenant with five events, and another one beside it. */
async function fiveEvents(database: Database): Promise<string> {
  const audit = auditStoreOf(database);
  const [namespaceId, beside] = [newTenant(), newTenant()];
  const ids = ["event-1", "event-2", "event-3", "event-4", "event-5"];
  await Promise.all(
    ids.flatMap((id) => [
      audit.record(auditEvent(id, { namespaceId })),
      audit.record(auditEvent(id, { namespaceId: beside })),
    ]),
  );
  return namespaceId;
}

/** The first row that was changed or removed; undefined when the audit log is whole. */
async function firstBroken(database: Database, namespaceId: string): Promise<number | undefined> {
  return (await auditStoreOf(database).verify(namespaceId)).broken?.sequence;
}

/** The same, for one who verifies so many rows at a time; and how many rows and heads they found in all. */
async function verifyInParts(database: Database, namespaceId: string, rows: number) {
  const audit = auditStoreOf(database);
  const found = { rows: 0, heads: 0, broken: undefined as number | undefined };
  let behind: AuditPart["behind"];
  do {
    const part = await audit.verify(namespaceId, { behind, rows });
    expect(part.rows).toBeLessThanOrEqual(rows);
    found.rows += part.rows;
    found.heads += part.heads.length;
    found.broken = part.broken?.sequence;
    behind = part.last;
  } while (behind !== undefined);
  return found;
}

function change({ db }: Database, namespaceId: string, sequence: number, to: Partial<Schema["audit"]>) {
  const row = db.updateTable("audit").set(to).where("namespace_id", "=", namespaceId);
  return row.where("sequence", "=", sequence).execute();
}

function remove({ db }: Database, namespaceId: string, sequence: number) {
  return db.deleteFrom("audit").where("namespace_id", "=", namespaceId).where("sequence", "=", sequence).execute();
}

async function rowAt({ db }: Database, namespaceId: string, sequence: number): Promise<Schema["audit"]> {
  const row = db.selectFrom("audit").selectAll().where("namespace_id", "=", namespaceId);
  return row.where("sequence", "=", sequence).executeTakeFirstOrThrow();
}

const rows: { name: string; tamper(database: Database, namespaceId: string): Promise<unknown>; found: number }[] = [
  ...(["content", "hash", "outcome", "type", "actor", "at", "trace_id", "id"] as const).map((column) => ({
    name: `a row whose ${column} was changed`,
    tamper: (database: Database, tenant: string) => change(database, tenant, 3, { [column]: "changed" }),
    found: 3,
  })),
  {
    name: "an event that was changed together with its hash",
    async tamper(database, tenant) {
      const { content, hash } = await rowAt(database, tenant, 1);
      await change(database, tenant, 3, { content, hash });
    },
    found: 3,
  },
  { name: "a removed first row", tamper: (database, tenant) => remove(database, tenant, 1), found: 1 },
  { name: "a removed row in the middle", tamper: (database, tenant) => remove(database, tenant, 3), found: 3 },
  { name: "a removed last row", tamper: (database, tenant) => remove(database, tenant, 5), found: 5 },
  {
    name: "that all rows were removed",
    tamper: ({ db }, tenant) => db.deleteFrom("audit").where("namespace_id", "=", tenant).execute(),
    found: 1,
  },
  {
    name: "a removed head",
    tamper: ({ db }, tenant) => db.deleteFrom("audit_heads").where("namespace_id", "=", tenant).execute(),
    found: 6,
  },
  {
    name: "an inserted row after the last",
    async tamper(database, tenant) {
      const last = await rowAt(database, tenant, 5);
      await database.db
        .insertInto("audit")
        .values({ ...last, sequence: 6 })
        .execute();
    },
    found: 6,
  },
  {
    name: "an inserted row in the middle, with the later ones moved up",
    async tamper(database, tenant) {
      const third = await rowAt(database, tenant, 3);
      await change(database, tenant, 5, { sequence: 6 });
      await change(database, tenant, 4, { sequence: 5 });
      await database.db
        .insertInto("audit")
        .values({ ...third, sequence: 4 })
        .execute();
    },
    found: 4,
  },
  {
    name: "two rows that changed places",
    async tamper(database, tenant) {
      await change(database, tenant, 2, { sequence: 9 });
      await change(database, tenant, 3, { sequence: 2 });
      await change(database, tenant, 9, { sequence: 3 });
    },
    found: 2,
  },
  {
    name: "a row of another tenant in the place of its own",
    async tamper(database, tenant) {
      const other = newTenant();
      await auditStoreOf(database).record(auditEvent("event-1", { namespaceId: other }));
      const { content, hash } = await rowAt(database, other, 1);
      await change(database, tenant, 1, { content, hash });
    },
    found: 1,
  },
];

describe.each(databaseKinds)("verifying the audit log on %s", (kind) => {
  const open = sharedDatabase(kind);

  test("an untouched audit log is whole, and so is one that does not exist", async () => {
    const database = await open();
    expect(await firstBroken(database, await fiveEvents(database))).toBeUndefined();
    expect(await firstBroken(database, "no-such-tenant")).toBeUndefined();
  });

  for (const { name, tamper, found } of rows) {
    test(`finds ${name}`, async () => {
      const database = await open();
      const namespaceId = await fiveEvents(database);
      await tamper(database, namespaceId);
      expect(await firstBroken(database, namespaceId)).toBe(found);
      for (const part of [1, 2, 5, 9])
        expect(await verifyInParts(database, namespaceId, part)).toMatchObject({ broken: found });
    });
  }

  test("in parts of any size finds the same rows and heads, on every strand", async () => {
    const database = await open();
    const namespaceId = await fiveEvents(database);
    const hosts = kind === "sqlite" ? [] : [3, 1];
    for (const strand of hosts) {
      const audit = auditStoreOf({ ...database, strand });
      for (const id of ["event-1", "event-2"]) await audit.record(auditEvent(id, { namespaceId }));
    }
    const rowCount = 5 + 2 * hosts.length;
    for (const part of [1, 2, 3, 5, rowCount, 99])
      expect(await verifyInParts(database, namespaceId, part)).toEqual({
        rows: rowCount,
        heads: 1 + hosts.length,
        broken: undefined,
      });
  });

  test("finds rows of a strand that no host writes", async () => {
    const database = await open();
    const namespaceId = await fiveEvents(database);
    const row = await rowAt(database, namespaceId, 5);
    await database.db
      .insertInto("audit")
      .values({ ...row, sequence: 6, strand: 7 })
      .execute();
    const { broken } = await auditStoreOf(database).verify(namespaceId);
    expect(broken).toMatchObject({ strand: 7, sequence: 1 });
  });

  test("finds a row that was removed beyond the first thousand", async () => {
    const database = await open();
    const audit = auditStoreOf(database);
    const namespaceId = newTenant();
    const ids = Array.from({ length: 2001 }, (_, place) => `event-${place + 1}`);
    await Promise.all(ids.map((id) => audit.record(auditEvent(id, { namespaceId }))));
    expect(await firstBroken(database, namespaceId)).toBeUndefined();
    await remove(database, namespaceId, 1500);
    expect(await firstBroken(database, namespaceId)).toBe(1500);
  });

  test("lets others run in between, however long the audit log is", async () => {
    const database = await open();
    const audit = auditStoreOf(database);
    const namespaceId = newTenant();
    const ids = Array.from({ length: 2000 }, (_, place) => `event-${place + 1}`);
    await Promise.all(ids.map((id) => audit.record(auditEvent(id, { namespaceId }))));
    const progress = { turns: 0, isDone: false };
    const others = async (): Promise<void> => {
      for (; !progress.isDone; progress.turns += 1) await new Promise((resolve) => setImmediate(resolve));
    };
    const verify = async (): Promise<void> => {
      expect(await audit.verify(namespaceId)).toMatchObject({ rows: 2000 });
      progress.isDone = true;
    };
    await Promise.all([others(), verify()]);
    expect(progress.turns).toBeGreaterThanOrEqual(10);
  });

  describe("against heads that were signed", () => {
    const checkpoint = { sequence: 7, at: "2026-01-01T12:00:00.000Z" };
    const fiveHeads = async (database: Database) => {
      const namespaceId = await fiveEvents(database);
      const heads = [2, 4, 5].map(async (sequence) => {
        return { strand: 0, sequence, hash: (await rowAt(database, namespaceId, sequence)).hash, checkpoint };
      });
      return { namespaceId, heads: await Promise.all(heads), audit: auditStoreOf(database) };
    };

    test("finds nothing in an audit log that has them all", async () => {
      const { namespaceId, heads, audit } = await fiveHeads(await open());
      expect(await audit.findBreak(namespaceId, heads)).toBeUndefined();
      expect(await audit.findBreak(namespaceId, [])).toBeUndefined();
    });

    test("finds a row that was changed, with its hash, and who signed another", async () => {
      const { namespaceId, heads, audit } = await fiveHeads(await open());
      const other = heads.map((head) => ({ ...head, hash: "f".repeat(64) }));
      const why = "row 2 or one before it was changed: checkpoint 7 of 2026-01-01T12:00:00.000Z signed another";
      expect(await audit.findBreak(namespaceId, other)).toEqual({ strand: 0, sequence: 2, why });
    });

    for (const { name, gone, sequence, why } of [
      { name: "rows that were cut off at the end", gone: [4, 5], sequence: 4, why: "row 4 was removed" },
      { name: "a row that is missing among others", gone: [4], sequence: 4, why: "row 4 was removed" },
      { name: "an audit log that is gone", gone: [1, 2, 3, 4, 5], sequence: 1, why: "row 1 was removed" },
    ])
      test(`finds ${name}`, async () => {
        const database = await open();
        const { namespaceId, heads, audit } = await fiveHeads(database);
        for (const row of gone) await remove(database, namespaceId, row);
        const unsigned = heads.map(({ strand, sequence: row, hash }) => ({ strand, sequence: row, hash }));
        const last = gone.includes(2) ? 2 : 4;
        expect(await audit.findBreak(namespaceId, unsigned)).toEqual({
          strand: 0,
          sequence,
          why: `${why}: this host wrote row ${last}`,
        });
      });
  });

  test("knows tenants by their audit log, their grants or their credentials, and no others", async () => {
    const database = await open();
    const audit = auditStoreOf(database);
    const [unknown, granted] = [newTenant(), newTenant()];
    await openStores(database).grants.issue(grant("g", { namespaceId: granted }));
    expect(await audit.isKnown(unknown)).toBe(false);
    expect(await audit.isKnown(granted)).toBe(true);
    expect(await audit.isKnown(await fiveEvents(database))).toBe(true);
  });

  test("a broken audit log says nothing about another tenant's", async () => {
    const database = await open();
    const [broken, whole] = [await fiveEvents(database), await fiveEvents(database)];
    await remove(database, broken, 3);
    expect(await firstBroken(database, whole)).toBeUndefined();
  });
});
