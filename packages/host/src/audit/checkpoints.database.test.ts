import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  readFileSync,
  renameSync,
  rmdirSync,
  rmSync,
  truncateSync,
  writeFileSync,
} from "node:fs";
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
import { auditEvent } from "../../test/records.ts";
import { auditStoreOf } from "../../test/single-stores.ts";
import type { Database } from "../storage/database.ts";
import type { AuditStore } from "./audit-store.ts";
import { entryOf, openLedger, type TenantHead } from "../ledger/index.ts";
import { createCheckpoints, type Checkpoints } from "./checkpoints.ts";
import { openSigningKey } from "./signing-key.ts";
import type { SignedHead } from "./audit-verify.ts";

interface Line {
  sequence: number;
  host: number;
  heads: TenantHead[];
}

/** One start of a host: its audit store, its checkpoints, and what it logged. */
interface Run {
  audit: AuditStore;
  checkpoints: Checkpoints;
  logged: { level: string; facts: object; message: string }[];
  record(namespaceId: string, count: number): Promise<void>;
}

let events = 0;

function start(database: Database, folder: string): Run {
  const audit = auditStoreOf(database);
  const logged: Run["logged"] = [];
  const to = (level: string) => (facts: object, message: string) => void logged.push({ level, facts, message });
  const log = { info: to("info"), warn: to("warn"), error: to("error") };
  const clock = (): Date => new Date("2026-01-01T12:00:00Z");
  const key = openSigningKey(join(folder, "audit-key.pem"));
  const checkpoints = createCheckpoints({ file: fileIn(folder), key, audit, database, log, clock });
  const record = async (namespaceId: string, count: number): Promise<void> => {
    await Promise.all(
      Array.from({ length: count }, () => audit.record(auditEvent(`event-${(events += 1)}`, { namespaceId }))),
    );
  };
  return { audit, checkpoints, logged, record };
}

function fileIn(folder: string): string {
  return join(folder, "checkpoints.jsonl");
}

function linesIn(folder: string): Line[] {
  return readFileSync(fileIn(folder), "utf8")
    .split("\n")
    .slice(0, -1)
    .map((line) => JSON.parse(line) as Line);
}

/** `tenant@row` of each head, line by line. */
function signed(folder: string): string[][] {
  return linesIn(folder).map(({ heads }) => heads.map(({ namespaceId, sequence }) => `${namespaceId}@${sequence}`));
}

async function headsOf({ checkpoints }: Run, namespaceId: string): Promise<SignedHead[]> {
  const heads: SignedHead[] = [];
  await checkpoints.headsOf(namespaceId, async (some) => void heads.push(...some));
  return heads;
}

/** Takes the newest rows of a tenant away, and its head back, as an attacker with the database would. */
async function cut({ db }: Database, tenant: string, from: number): Promise<void> {
  await db.deleteFrom("audit").where("namespace_id", "=", tenant).where("sequence", ">=", from).execute();
  const rows = db.selectFrom("audit").select(["sequence", "hash"]).where("namespace_id", "=", tenant);
  const last = await rows.orderBy("sequence", "desc").limit(1).executeTakeFirst();
  if (last === undefined) await db.deleteFrom("audit_heads").where("namespace_id", "=", tenant).execute();
  else await db.updateTable("audit_heads").set(last).where("namespace_id", "=", tenant).execute();
}

describe.each(databaseKinds)("checkpoints on %s", (kind) => {
  test("sign the heads that changed since the last one, and are not written when none did", async () => {
    const [database, folder] = [await openHost(await newLocation(kind)), temporaryFolder()];
    const host = start(database, folder);
    await host.record("a", 2);
    await host.record("b", 1);
    await host.checkpoints.write();
    await host.checkpoints.write();
    await host.record("b", 3);
    expect(host.checkpoints.waiting).toBe(1);
    await host.checkpoints.write();
    await host.checkpoints.write();
    expect(signed(folder)).toEqual([["a@2", "b@1"], ["b@4"]]);
    const { heads } = await host.audit.verify("b");
    expect(linesIn(folder)[1]?.heads).toEqual(heads.map((head) => ({ namespaceId: "b", ...head })));
    expect([host.checkpoints.waiting, host.logged]).toEqual([0, []]);
  });

  test("of many tenants take several lines, and none is left out", async () => {
    const [database, folder] = [await openFresh(kind), temporaryFolder()];
    const host = start(database, folder);
    const tenants = Array.from({ length: 1001 }, (_, place) => `tenant-${place}`);
    await Promise.all(tenants.map((tenant) => host.record(tenant, 1)));
    await host.checkpoints.write();
    expect(signed(folder).map((heads) => heads.length)).toEqual([500, 500, 1]);
    expect(new Set(signed(folder).flat()).size).toBe(1001);
    const again = start(database, folder);
    await again.checkpoints.write();
    expect([signed(folder).length, again.logged]).toEqual([3, []]);
  });

  test("are continued by the next start, which signs what a killed process left unsigned", async () => {
    const [database, folder] = [await openFresh(kind), temporaryFolder()];
    const killed = start(database, folder);
    await killed.record("a", 2);
    await killed.checkpoints.write();
    await killed.record("a", 1);
    await killed.record("b", 5);
    const host = start(database, folder);
    await host.checkpoints.write();
    expect(signed(folder)).toEqual([["a@2"], ["a@3", "b@5"]]);
    expect(host.logged).toEqual([]);
  });

  test("an unfinished line of a killed process is cut off and logged, and the heads in it are signed again", async () => {
    const [database, folder] = [await openFresh(kind), temporaryFolder()];
    const killed = start(database, folder);
    await killed.record("a", 2);
    await killed.checkpoints.write();
    await killed.record("a", 1);
    await killed.checkpoints.write();
    truncateSync(fileIn(folder), readFileSync(fileIn(folder)).length - 20);
    const host = start(database, folder);
    expect(await headsOf(host, "a")).toHaveLength(1);
    await host.checkpoints.write();
    expect(signed(folder)).toEqual([["a@2"], ["a@3"]]);
    expect(host.logged.map(({ level, message }) => `${level}: ${message}`)).toEqual([
      "warn: cut a torn checkpoint off, which was never finished",
    ]);
    expect(host.logged[0]?.facts).toMatchObject({ file: fileIn(folder), checkpoint: 1 });
  });

  test("say at the start that the database is behind them, or has other rows, and for which tenants", async () => {
    const [database, folder] = [await openFresh(kind), temporaryFolder()];
    const before = start(database, folder);
    for (const tenant of ["cut", "gone", "rewritten", "whole"]) await before.record(tenant, 4);
    await before.checkpoints.write();
    await cut(database, "cut", 3);
    await cut(database, "gone", 1);
    await cut(database, "rewritten", 4);
    await auditStoreOf(database).record(auditEvent("another", { namespaceId: "rewritten" }));
    const host = start(database, folder);
    await host.checkpoints.write();
    expect(host.logged).toEqual([
      {
        level: "error",
        facts: { tenants: 3, first: ["cut", "rewritten", "gone"], checkpoint: 1 },
        message: expect.stringContaining("behind its checkpoints"),
      },
    ]);
    // What is behind is not signed: a checkpoint would make it right.
    expect(signed(folder)).toHaveLength(1);
  });

  test("sign what the process wrote, not what was made of it since", async () => {
    const [database, folder] = [await openFresh(kind), temporaryFolder()];
    const host = start(database, folder);
    await host.record("a", 5);
    await cut(database, "a", 3);
    await host.checkpoints.write();
    expect(signed(folder)).toEqual([["a@5"]]);
  });

  for (const more of [1, 2, 3, 9]) {
    test(`still sign the head of a chain that was cut by three rows before ${more} came, within one checkpoint`, async () => {
      const [database, folder] = [await openFresh(kind), temporaryFolder()];
      const host = start(database, folder);
      await host.record("a", 5);
      await cut(database, "a", 3);
      await host.record("a", more);
      await host.checkpoints.write();
      expect(signed(folder)).toEqual([["a@5", `a@${2 + more}`]]);
    });
  }

  test("still sign the head of a chain that was rewritten, and made longer, before the next event came", async () => {
    const [database, folder] = [await openFresh(kind), temporaryFolder()];
    const host = start(database, folder);
    await host.record("a", 5);
    await cut(database, "a", 3);
    await start(database, temporaryFolder()).record("a", 4);
    await host.record("a", 1);
    await host.checkpoints.write();
    expect(signed(folder)).toEqual([["a@5", "a@7"]]);
    const heads = await headsOf(host, "a");
    expect((await host.audit.findBreak("a", heads))?.why).toMatch(/^row 5 or one before it was changed/);
  });

  test("that cannot be written are logged, wait, and hold no event up; they are written once that is possible", async () => {
    const [database, folder] = [await openFresh(kind), temporaryFolder()];
    const host = start(database, folder);
    mkdirSync(fileIn(folder));
    await host.record("a", 1);
    await expect(host.checkpoints.write()).rejects.toThrow("EISDIR");
    await host.record("b", 1);
    await host.checkpoints.close();
    expect(host.logged).toMatchObject([{ level: "error", message: "could not write audit checkpoint, will retry" }]);
    expect(host.checkpoints.waiting).toBe(2);
    rmdirSync(fileIn(folder));
    await host.checkpoints.write();
    expect(signed(folder)).toEqual([["a@1", "b@1"]]);
    expect(host.checkpoints.waiting).toBe(0);
  });

  test("are written at the start and at the end", async () => {
    const [database, folder] = [await openFresh(kind), temporaryFolder()];
    const host = start(database, folder);
    await host.record("a", 1);
    host.checkpoints.start(3600);
    await host.record("a", 1);
    await host.checkpoints.close();
    expect(signed(folder).flat().at(-1)).toBe("a@2");
  });

  test("that others can sign are warned of", async () => {
    const [database, folder] = [await openFresh(kind), temporaryFolder()];
    openSigningKey(join(folder, "audit-key.pem"));
    chmodSync(join(folder, "audit-key.pem"), 0o644);
    const host = start(database, folder);
    host.checkpoints.start(3600);
    await host.checkpoints.close();
    expect(host.logged[0]).toMatchObject({ level: "warn", message: expect.stringContaining("chmod 600") });
  });

  test("of something else are not continued, and the file stays as it is", async () => {
    const [database, folder] = [await openFresh(kind), temporaryFolder()];
    writeFileSync(fileIn(folder), "my only copy");
    const host = start(database, folder);
    await host.record("a", 1);
    await expect(host.checkpoints.write()).rejects.toThrow("this is no file of checkpoints");
    expect(readFileSync(fileIn(folder), "utf8")).toBe("my only copy");
  });

  test("whose file is not whole are not continued, and the file stays as it is", async () => {
    const [database, folder] = [await openFresh(kind), temporaryFolder()];
    const before = start(database, folder);
    for (let round = 0; round < 3; round += 1) {
      await before.record("a", 1);
      await before.checkpoints.write();
    }
    const text = readFileSync(fileIn(folder), "utf8").split("\n").toSpliced(1, 1).join("\n");
    writeFileSync(fileIn(folder), text);
    const host = start(database, folder);
    await host.record("a", 1);
    await expect(host.checkpoints.write()).rejects.toThrow("line 2 does not go on from the line before");
    await expect(headsOf(host, "a")).rejects.toThrow("line 2 does not go on from the line before");
    expect(readFileSync(fileIn(folder), "utf8")).toBe(text);
  });

  test("of another key are not continued", async () => {
    const [database, folder] = [await openFresh(kind), temporaryFolder()];
    const before = start(database, folder);
    await before.record("a", 1);
    await before.checkpoints.write();
    rmSync(join(folder, "audit-key.pem"));
    const host = start(database, folder);
    await host.record("a", 1);
    await expect(host.checkpoints.write()).rejects.toThrow("is signed by the key");
    expect(linesIn(folder)).toHaveLength(1);
  });

  for (const [name, harm] of [
    ["cut", (file: string) => truncateSync(file, readFileSync(file, "utf8").indexOf("\n") + 1)],
    ["without its last end of line", (file: string) => truncateSync(file, readFileSync(file).length - 1)],
    ["empty", (file: string) => truncateSync(file, 0)],
    ["gone", (file: string) => rmSync(file)],
  ] as const) {
    test(`whose file is ${name} are missed by the host that wrote them`, async () => {
      const [database, folder] = [await openFresh(kind), temporaryFolder()];
      const host = start(database, folder);
      for (let round = 0; round < 2; round += 1) {
        await host.record("a", 1);
        await host.checkpoints.write();
      }
      harm(fileIn(folder));
      await expect(headsOf(host, "a")).rejects.toThrow("lines at its end were removed");
      await host.record("a", 1);
      await expect(host.checkpoints.write()).rejects.toThrow(/is gone|were removed/);
    });
  }

  for (const lines of [2, 3]) {
    test(`whose file became another one of ${lines} lines, by the same key, are missed by the host that wrote them`, async () => {
      const [database, folder, elsewhere] = [await openFresh(kind), temporaryFolder(), temporaryFolder()];
      const host = start(database, folder);
      copyFileSync(join(folder, "audit-key.pem"), join(elsewhere, "audit-key.pem"));
      const other = start(await openFresh(kind), elsewhere);
      for (let round = 0; round < lines; round += 1) {
        await host.record("a", round < 2 ? 1 : 0);
        await host.checkpoints.write();
        await other.record("a", 1);
        await other.checkpoints.write();
      }
      expect(await headsOf(host, "a")).toHaveLength(2);
      copyFileSync(fileIn(elsewhere), fileIn(folder));
      await expect(headsOf(host, "a")).rejects.toThrow("its line 2 is not the one this host has seen");
    });
  }

  test("that were taken away together with their key are missed by the next start", async () => {
    const [database, folder] = [await openFresh(kind), temporaryFolder()];
    const before = start(database, folder);
    await before.record("a", 1);
    await before.checkpoints.write();
    const host = start({ ...database, hostId: 2 }, temporaryFolder());
    await host.checkpoints.write();
    expect(host.logged).toMatchObject([
      { level: "warn", message: expect.stringContaining("no earlier audit checkpoints were found") },
    ]);
  });

  test("are not missed where there is no audit log", async () => {
    const host = start({ ...(await openFresh(kind)), hostId: 2 }, temporaryFolder());
    await host.checkpoints.write();
    expect(host.logged).toEqual([]);
  });

  test("that were moved away are missed by the next start, which begins anew with every head", async () => {
    const database = await openFresh(kind);
    const folder = temporaryFolder();
    // A database that was started on before.
    const later = { ...database, hostId: 2 };
    const before = start(database, folder);
    await before.record("a", 1);
    await before.record("b", 1);
    await before.checkpoints.write();
    renameSync(fileIn(folder), join(folder, "copy.jsonl"));
    const host = start(later, folder);
    await host.checkpoints.write();
    expect(host.logged).toMatchObject([
      { level: "warn", message: expect.stringContaining("no earlier audit checkpoints were found") },
    ]);
    expect(signed(folder)).toEqual([["a@1", "b@1"]]);
  });

  test("know the heads of a tenant: those that were signed, with by which, and those that are yet to be", async () => {
    const [database, folder] = [await openFresh(kind), temporaryFolder()];
    const host = start(database, folder);
    const [tenant, other] = [newTenant(), newTenant()];
    for (let round = 0; round < 2; round += 1) {
      await host.record(tenant, 2);
      await host.record(other, 1);
      await host.checkpoints.write();
    }
    await host.record(tenant, 1);
    const at = "2026-01-01T12:00:00.000Z";
    const heads = await headsOf(host, tenant);
    expect(heads.map(({ sequence, checkpoint }) => [sequence, checkpoint])).toEqual([
      [2, { sequence: 1, at }],
      [4, { sequence: 2, at }],
      [5, undefined],
    ]);
    expect(await host.audit.findBreak(tenant, heads)).toBeUndefined();
    expect(await headsOf(host, "unknown")).toEqual([]);
  });
});

describe("checkpoints of two hosts on one PostgreSQL", () => {
  test("are not of a strand on which nothing was stored, because its only call was a replay of another host's", async () => {
    const [one, other] = await openPair();
    const key = { namespace_id: "a", actor: "agent:a", kind: "tool", scope: "", id: "call-1" } as const;
    const call = (nonce: string) => ({
      claim: { key, fingerprint: "one", nonce },
      alternatives: [{ entries: [entryOf(auditEvent(nonce, { namespaceId: "a" }))] }],
    });
    expect(await openLedger(one).submit(call("first"))).toMatchObject({ kind: "written" });
    expect(await openLedger(other).submit(call("second"))).toMatchObject({ kind: "taken" });
    const folder = temporaryFolder();
    const host = start(other, folder);
    await host.checkpoints.write();
    expect(signed(folder)).toEqual([["a@1"]]);
    expect(await headsOf(host, "a")).toHaveLength(1);
    expect(await host.audit.verify("a")).toMatchObject({ rows: 1, heads: [{ strand: one.strand, sequence: 1 }] });
  });

  test("with a folder each are apart; both hold the same audit log", async () => {
    const databases = await openPair();
    const hosts = databases.map((database) => {
      const folder = temporaryFolder();
      return { folder, ...start(database, folder) };
    });
    for (let round = 0; round < 3; round += 1) {
      await Promise.all(hosts.map(({ record }) => record("a", 5)));
      await Promise.all(hosts.map(({ checkpoints }) => checkpoints.write()));
    }
    for (const host of hosts) {
      expect(linesIn(host.folder).length).toBeGreaterThanOrEqual(3);
      expect(await host.audit.findBreak("a", await headsOf(host, "a"))).toBeUndefined();
      // The second one finds an audit log of which it has no checkpoints, and says so.
      expect(host.logged.filter(({ level }) => level === "error")).toEqual([]);
    }
  });

  test("that share a folder take turns at its file, and lose nothing of each other", async () => {
    const folder = temporaryFolder();
    const hosts = (await openPair()).map((database) => start(database, folder));
    for (let round = 0; round < 10; round += 1) {
      await Promise.all(hosts.map(({ record }, host) => record(`${host}`, 1)));
      await Promise.all(hosts.map(({ checkpoints }) => checkpoints.write()));
    }
    for (const [tenant, host] of hosts.entries()) {
      expect((await headsOf(host, `${tenant}`)).map(({ sequence }) => sequence)).toContain(10);
      expect(host.logged.filter(({ level }) => level === "error")).toEqual([]);
    }
    expect(new Set(linesIn(folder).map(({ host }) => host)).size).toBe(2);
    expect(linesIn(folder).map(({ sequence }) => sequence)).toEqual(linesIn(folder).map((_, place) => place + 1));
  });
});
