import { describe, expect, test } from "vitest";
import { archiveTime, beforeRetention, openArchive, straight } from "../../test/audit-archive.ts";
import { databaseKinds, newLocation, openHost, temporaryFolder } from "../../test/databases.ts";
import { builtFile, otherProcess } from "../../test/other-process.ts";
import { verifyExport } from "../audit/index.ts";

const upTo = (count: number, from = 1): number[] =>
  Array.from({ length: count - from + 1 }, (_, place) => from + place);

describe.each(databaseKinds)("audit on %s that is exported and removed", (kind) => {
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
    console.log("removed " + await task.run(new Date(${JSON.stringify(archiveTime.toISOString())}), step));
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
      await openArchive(before, folder).fill("acme", beforeRetention, 450);
      await before.close();
      const host = await otherProcess(hostThatStops(location, folder, point));
      expect(host.said).toBe("stopped");
      await host.kill();
      const archive = openArchive(await openHost(location), folder);
      expect(await archive.retained("acme")).toEqual(left);
      expect(await archive.why("acme")).toBeUndefined();
      expect(await archive.task.run(archiveTime, straight)).toBe(left.length);
      expect(await archive.retained("acme")).toEqual([]);
      const whole = archive.files().filter((file) => file.endsWith(".jsonl"));
      for (const file of whole) await verifyExport(file, archive.key);
      expect(new Set(whole.flatMap(archive.rowsIn))).toEqual(new Set(upTo(450)));
    });
  }
});
