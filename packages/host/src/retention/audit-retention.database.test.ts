import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import {
  databaseKinds,
  newLocation,
  newTenant,
  openFresh,
  openHost,
  openPair,
  temporaryFolder,
} from "../../test/databases.ts";
import { builtFile, otherProcess } from "../../test/other-process.ts";
import { recordingLog } from "../../test/recording-log.ts";
import { auditEvent } from "../../test/records.ts";
import { auditStoreOf } from "../../test/single-stores.ts";
import { createCheckpoints, openSigningKey, verifyExport } from "../audit/index.ts";
import { entryOf, origin, rowBehind, type Head } from "../ledger/index.ts";
import type { Database } from "../storage/index.ts";
import { auditRetention } from "./audit-retention.ts";
import { createRetention, retentionLocks, type RunStep } from "./retention.ts";

const now = new Date("2026-06-01T10:00:00.000Z");
const old = "2026-01-01T00:00:00.000Z";
const recent = "2026-05-30T00:00:00.000Z";
const straight: RunStep = (work) => work();

/** Ways to fill audit logs on a database, to age them, and to read what is left and what was exported. */
function openArchive(database: Database, folder = temporaryFolder()) {
  const key = openSigningKey(join(folder, "key.pem"));
  const audit = auditStoreOf(database);
  const log = recordingLog();
  const exports = join(folder, "exports");
  const checkpoints = createCheckpoints({
    file: join(folder, `checkpoints-${database.hostId}.jsonl`),
    key,
    audit,
    database,
    log: recordingLog(),
    clock: () => now,
  });
  const task = auditRetention({ database, audit, checkpoints, key, folder: exports, log }, 30);
  const fill = async (namespaceId: string, at: string, count: number): Promise<void> => {
    await Promise.all(
      Array.from({ length: count }, (_, place) => audit.record(auditEvent(`${at} ${place}`, { namespaceId, at }))),
    );
  };
  const files = (): string[] => readdirSync(exports, { withFileTypes: true }).map(({ name }) => join(exports, name));
  const rowsIn = (file: string): number[] =>
    readFileSync(file, "utf8")
      .split("\n")
      .flatMap((line) => (line.includes('"event"') ? (JSON.parse(line) as { sequence: number }).sequence : []));
  const retained = async (namespaceId: string): Promise<number[]> => {
    const rows = database.db.selectFrom("audit").select("sequence").where("namespace_id", "=", namespaceId);
    return (await rows.orderBy("sequence").execute()).map(({ sequence }) => sequence);
  };
  const why = async (namespaceId: string): Promise<string | undefined> => {
    const { anchors, broken } = await audit.readAnchors(namespaceId, key);
    return (broken ?? (await audit.verify(namespaceId, { anchors })).broken)?.why;
  };
  return { database, key, audit, checkpoints, log, folder, exports, task, fill, files, rowsIn, retained, why };
}

const upTo = (count: number, from = 1): number[] =>
  Array.from({ length: count - from + 1 }, (_, place) => from + place);

describe.each(databaseKinds)("audit on %s that is older than its retention", (kind) => {
  test("is exported and then removed, and the audit log is whole from there on", async () => {
    const archive = openArchive(await openFresh(kind));
    await archive.fill("acme", old, 450);
    await archive.fill("acme", recent, 3);
    await archive.fill("young", recent, 2);
    expect(await archive.task.run(now, straight)).toBe(450);
    const [file = "", ...more] = archive.files();
    expect(more).toEqual([]);
    expect(file).toMatch(/\/acme-[0-9a-f]{8}-[\dTZ-]+-[0-9a-f]{8}\.jsonl$/);
    expect(await verifyExport(file, archive.key)).toMatchObject({ rows: 450, before: "2026-05-02T00:00:00.000Z" });
    expect(await archive.retained("acme")).toEqual([451, 452, 453]);
    expect([await archive.why("acme"), await archive.why("young")]).toEqual([undefined, undefined]);
    expect(archive.log.said).toMatchObject([{ level: "info", facts: { tenant: "acme", rows: 450, file } }]);
    expect(await archive.task.run(now, straight)).toBe(0);
    expect(archive.files()).toHaveLength(1);
  });

  test("goes a whole day at a time, so that there is not a file for every hour", async () => {
    const archive = openArchive(await openFresh(kind));
    await archive.fill("acme", "2026-05-02T09:00:00.000Z", 1);
    expect(await archive.task.run(now, straight)).toBe(0);
    expect(await archive.task.run(new Date("2026-06-02T00:00:00.000Z"), straight)).toBe(1);
  });

  test("stays when its audit log is broken, and holds up no other tenant's", async () => {
    const database = await openFresh(kind);
    const archive = openArchive(database);
    for (const tenant of ["acme", "broken", "carols"]) await archive.fill(tenant, old, 3);
    await database.db.updateTable("audit").set({ outcome: "denied" }).where("namespace_id", "=", "broken").execute();
    expect(await archive.task.run(now, straight)).toBe(6);
    expect(await archive.retained("broken")).toEqual([1, 2, 3]);
    expect(archive.log.said.filter(({ level }) => level === "error")).toMatchObject([{ facts: { tenant: "broken" } }]);
  });

  test("stays when it was rewritten and continued since a checkpoint, although its chain is whole in itself", async () => {
    const database = await openFresh(kind);
    const archive = openArchive(database);
    await archive.fill("acme", old, 3);
    await archive.checkpoints.write();
    let head: Head = { sequence: 0, hash: origin };
    await database.db.deleteFrom("audit").execute();
    for (const id of ["forged-1", "forged-2", "forged-3", "forged-4"]) {
      const row = rowBehind(head, database.strand, entryOf(auditEvent(id, { namespaceId: "acme", at: old })));
      await database.db.insertInto("audit").values(row).execute();
      head = { sequence: row.sequence, hash: row.hash };
    }
    await database.db.updateTable("audit_heads").set(head).execute();
    expect(await archive.task.run(now, straight)).toBe(0);
    expect(await archive.retained("acme")).toEqual([1, 2, 3, 4]);
    expect(archive.log.said.filter(({ level }) => level === "error")).toMatchObject([
      {
        facts: { tenant: "acme", says: expect.stringMatching(/^row 3 or one before it was changed: checkpoint 1 of /) },
      },
    ]);
    expect(archive.files()).toEqual([]);
  });

  test("stays when its anchor was signed by another key", async () => {
    const database = await openFresh(kind);
    const archive = openArchive(database);
    await archive.fill("acme", old, 2);
    await archive.task.run(now, straight);
    await archive.fill("acme", old, 2);
    const stranger = openArchive(database);
    expect(await stranger.task.run(now, straight)).toBe(0);
    expect(stranger.log.said).toMatchObject([
      { level: "error", facts: { says: expect.stringContaining("is signed by the key") } },
    ]);
    expect(await archive.retained("acme")).toEqual([3, 4]);
  });

  test("stays when it cannot be exported", async () => {
    const archive = openArchive(await openFresh(kind));
    await archive.fill("acme", old, 2);
    writeFileSync(archive.exports, "a file where the folder would be");
    await expect(archive.task.run(now, straight)).rejects.toThrow("EEXIST");
    expect(await archive.retained("acme")).toEqual([1, 2]);
  });

  test("stays when the file that was written does not read back", async () => {
    const archive = openArchive(await openFresh(kind));
    await archive.fill("acme", old, 2);
    const lying = auditRetention(
      {
        database: archive.database,
        audit: archive.audit,
        checkpoints: archive.checkpoints,
        key: { ...archive.key, isSigned: () => false },
        folder: archive.exports,
        log: archive.log,
      },
      30,
    );
    expect(await lying.run(now, straight)).toBe(0);
    expect(await archive.retained("acme")).toEqual([1, 2]);
  });

  /** A host of its own that exports and removes, and stays at one of its steps. */
  const hostThatStops = (location: string, folder: string, point: number): string => `
    const { auditRetention } = await import(${builtFile("retention/index.js")});
    const { createAuditStore, openSigningKey } = await import(${builtFile("audit/index.js")});
    const { openLedger } = await import(${builtFile("ledger/index.js")});
    const database = await openDatabase(${JSON.stringify(location)});
    const folder = ${JSON.stringify(folder)};
    const log = { info() {}, warn() {}, error() {} };
    const key = openSigningKey(folder + "/key.pem");
    const task = auditRetention({ database, audit: createAuditStore(database, openLedger(database)), checkpoints: { headsOf: async () => {} }, key,
      folder: folder + "/exports", log }, 30);
    let steps = 0;
    const step = async (work) => {
      steps += 1;
      if (steps === ${point}) await new Promise(() => console.log("stopped"));
      return work();
    };
    console.log("removed " + await task.run(new Date(${JSON.stringify(now.toISOString())}), step));
    setInterval(() => {}, 1000);`;

  // Of 450 rows three pages are read, then the end, then nothing; and three times rows go.
  for (const { name, point, left } of [
    { name: "while it exports", point: 3, left: upTo(450) },
    { name: "when it has exported and removed nothing", point: 6, left: upTo(450) },
    { name: "when some rows went", point: 7, left: upTo(450, 201) },
    { name: "before the last rows go", point: 8, left: upTo(450, 401) },
  ]) {
    test(`loses nothing when its host is killed ${name}`, async () => {
      const [location, folder] = [await newLocation(kind), temporaryFolder()];
      const before = await openHost(location);
      await openArchive(before, folder).fill("acme", old, 450);
      await before.close();
      const host = await otherProcess(hostThatStops(location, folder, point));
      expect(host.said).toBe("stopped");
      await host.kill();
      const archive = openArchive(await openHost(location), folder);
      expect(await archive.retained("acme")).toEqual(left);
      expect(await archive.why("acme")).toBeUndefined();
      expect(await archive.task.run(now, straight)).toBe(left.length);
      expect(await archive.retained("acme")).toEqual([]);
      const whole = archive.files().filter((file) => file.endsWith(".jsonl"));
      for (const file of whole) await verifyExport(file, archive.key);
      expect(new Set(whole.flatMap(archive.rowsIn))).toEqual(new Set(upTo(450)));
    });
  }
});

test("two hosts on a PostgreSQL that export and remove at once, beside calls, lose no row", async () => {
  const [one, other] = await openPair();
  const folder = temporaryFolder();
  const archives = [openArchive(one, folder), openArchive(other, folder)];
  const tenant = newTenant();
  for (const archive of archives) await archive.fill(tenant, old, 450);
  // Not under the lock that separates them, which a host may lose.
  await Promise.all([
    ...archives.map((archive) => archive.task.run(now, straight)),
    ...archives.map((archive) => archive.fill(tenant, recent, 20)),
  ]);
  const retention = createRetention({
    database: one,
    tasks: archives.slice(0, 1).map(({ task }) => task),
    log: recordingLog(),
    now: () => Promise.resolve(now),
    lock: retentionLocks.age,
  });
  await retention.run();
  const [archive] = archives;
  if (archive === undefined) throw new Error("There is no archive.");
  expect(await archive.why(tenant)).toBeUndefined();
  expect(await archive.retained(tenant)).toHaveLength(40);
  const exported = archive.files().flatMap((file) =>
    readFileSync(file, "utf8")
      .split("\n")
      .filter((line) => line.includes('"event"'))
      .map((line) => JSON.parse(line) as { strand: number; sequence: number })
      .map(({ strand, sequence }) => `${strand} ${sequence}`),
  );
  expect(new Set(exported).size).toBe(900);
});
