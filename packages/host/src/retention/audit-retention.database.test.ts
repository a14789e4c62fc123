import { readFileSync, writeFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { archiveTime, beforeRetention, openArchive, straight } from "../../test/audit-archive.ts";
import { databaseKinds, newTenant, openFresh, openPair, temporaryFolder } from "../../test/databases.ts";
import { recordingLog } from "../../test/recording-log.ts";
import { auditEvent } from "../../test/records.ts";
import { verifyExport } from "../audit/index.ts";
import { entryOf, origin, rowBehind, type Head } from "../ledger/index.ts";
import { auditRetention } from "./audit-retention.ts";
import { createRetention, retentionLocks } from "./retention.ts";

const recent = "2026-05-30T00:00:00.000Z";

describe.each(databaseKinds)("audit on %s that is older than its retention", (kind) => {
  test("is exported and then removed, and the audit log is whole from there on", async () => {
    const archive = openArchive(await openFresh(kind));
    await archive.fill("acme", beforeRetention, 450);
    await archive.fill("acme", recent, 3);
    await archive.fill("young", recent, 2);
    expect(await archive.task.run(archiveTime, straight)).toBe(450);
    const [file = "", ...more] = archive.files();
    expect(more).toEqual([]);
    expect(file).toMatch(/\/acme-[0-9a-f]{8}-[\dTZ-]+-[0-9a-f]{8}\.jsonl$/);
    expect(await verifyExport(file, archive.key)).toMatchObject({ rows: 450, before: "2026-05-02T00:00:00.000Z" });
    expect(await archive.retained("acme")).toEqual([451, 452, 453]);
    expect([await archive.why("acme"), await archive.why("young")]).toEqual([undefined, undefined]);
    expect(archive.log.said).toMatchObject([{ level: "info", facts: { tenant: "acme", rows: 450, file } }]);
    expect(await archive.task.run(archiveTime, straight)).toBe(0);
    expect(archive.files()).toHaveLength(1);
  });

  test("goes a whole day at a time, so that there is not a file for every hour", async () => {
    const archive = openArchive(await openFresh(kind));
    await archive.fill("acme", "2026-05-02T09:00:00.000Z", 1);
    expect(await archive.task.run(archiveTime, straight)).toBe(0);
    expect(await archive.task.run(new Date("2026-06-02T00:00:00.000Z"), straight)).toBe(1);
  });

  test("stays when its audit log is broken, and holds up no other tenant's", async () => {
    const database = await openFresh(kind);
    const archive = openArchive(database);
    for (const tenant of ["acme", "broken", "carols"]) await archive.fill(tenant, beforeRetention, 3);
    await database.db.updateTable("audit").set({ outcome: "denied" }).where("namespace_id", "=", "broken").execute();
    expect(await archive.task.run(archiveTime, straight)).toBe(6);
    expect(await archive.retained("broken")).toEqual([1, 2, 3]);
    expect(archive.log.said.filter(({ level }) => level === "error")).toMatchObject([{ facts: { tenant: "broken" } }]);
  });

  test("stays when it was rewritten and continued since a checkpoint, although its chain is whole in itself", async () => {
    const database = await openFresh(kind);
    const archive = openArchive(database);
    await archive.fill("acme", beforeRetention, 3);
    await archive.checkpoints.write();
    let head: Head = { sequence: 0, hash: origin };
    await database.db.deleteFrom("audit").execute();
    for (const id of ["forged-1", "forged-2", "forged-3", "forged-4"]) {
      const row = rowBehind(
        head,
        database.strand,
        entryOf(auditEvent(id, { namespaceId: "acme", at: beforeRetention })),
      );
      await database.db.insertInto("audit").values(row).execute();
      head = { sequence: row.sequence, hash: row.hash };
    }
    await database.db.updateTable("audit_heads").set(head).execute();
    expect(await archive.task.run(archiveTime, straight)).toBe(0);
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
    await archive.fill("acme", beforeRetention, 2);
    await archive.task.run(archiveTime, straight);
    await archive.fill("acme", beforeRetention, 2);
    const stranger = openArchive(database);
    expect(await stranger.task.run(archiveTime, straight)).toBe(0);
    expect(stranger.log.said).toMatchObject([
      { level: "error", facts: { says: expect.stringContaining("is signed by the key") } },
    ]);
    expect(await archive.retained("acme")).toEqual([3, 4]);
  });

  test("stays when it cannot be exported", async () => {
    const archive = openArchive(await openFresh(kind));
    await archive.fill("acme", beforeRetention, 2);
    writeFileSync(archive.exports, "a file where the folder would be");
    await expect(archive.task.run(archiveTime, straight)).rejects.toThrow("EEXIST");
    expect(await archive.retained("acme")).toEqual([1, 2]);
  });

  test("stays when the file that was written does not read back", async () => {
    const archive = openArchive(await openFresh(kind));
    await archive.fill("acme", beforeRetention, 2);
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
    expect(await lying.run(archiveTime, straight)).toBe(0);
    expect(await archive.retained("acme")).toEqual([1, 2]);
  });
});

test("two hosts on a PostgreSQL that export and remove at once, beside calls, lose no row", async () => {
  const [one, other] = await openPair();
  const folder = temporaryFolder();
  const archives = [openArchive(one, folder), openArchive(other, folder)];
  const tenant = newTenant();
  for (const archive of archives) await archive.fill(tenant, beforeRetention, 450);
  // Not under the lock that separates them, which a host may lose.
  await Promise.all([
    ...archives.map((archive) => archive.task.run(archiveTime, straight)),
    ...archives.map((archive) => archive.fill(tenant, recent, 20)),
  ]);
  const retention = createRetention({
    database: one,
    tasks: archives.slice(0, 1).map(({ task }) => task),
    log: recordingLog(),
    now: () => Promise.resolve(archiveTime),
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
