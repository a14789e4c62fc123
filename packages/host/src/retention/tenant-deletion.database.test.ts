import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { databaseKinds, migratedLocation, openFresh, openHost, temporaryFolder } from "../../test/databases.ts";
import { askAct } from "../../test/office.ts";
import { recordingLog } from "../../test/recording-log.ts";
import { alice, auditEvent, grant } from "../../test/records.ts";
import { beginTurn, progress, turnToBegin, waitingEntry } from "../../test/turn-journals.ts";
import { createCheckpoints, openSigningKey } from "../audit/index.ts";
import { openStores } from "../compose/stores.ts";
import type { Database } from "../storage/index.ts";
import { exportAndRemove } from "./audit-retention.ts";
import type { DeletedTenants } from "./deleted-tenants.ts";
import type { RunStep } from "./retention.ts";
import { tenantDeletion } from "./tenant-deletion.ts";

const order = { actor: alice, operator: "one", at: "2026-01-01T00:00:00.000Z" };
const now = new Date("2026-01-01T00:00:00.000Z");
const straight: RunStep = (work) => work();

function openDeletion(database: Database, folder = temporaryFolder(), changes: Partial<DeletedTenants> = {}) {
  const stores = openStores(database);
  const key = openSigningKey(join(folder, "key.pem"));
  const tenants = { ...stores.tenants, ...changes };
  const log = recordingLog();
  const file = join(folder, `checkpoints-${database.hostId}.jsonl`);
  const checkpoints = createCheckpoints({ file, key, audit: stores.audit, database, log, clock: () => now });
  const parts = { database, audit: stores.audit, checkpoints, key, folder: join(folder, "exports"), log, tenants };
  const verify = async () => {
    const { anchors, broken } = await stores.audit.readAnchors("acme", key);
    const { rows, broken: torn } = await stores.audit.verify("acme", { anchors });
    return { rows, why: (broken ?? torn)?.why };
  };
  return { stores, parts, task: tenantDeletion(parts), verify };
}

/** Runs each step until one, before which the host ends. */
function endingBefore(point: number): RunStep {
  let steps = 0;
  return (work) => {
    steps += 1;
    return steps === point ? Promise.reject(new Error("the host ended")) : work();
  };
}

describe.each(databaseKinds)("a deletion on %s", (kind) => {
  for (const point of [1, 4, 12, 14, 16]) {
    test(`that ended before its step ${point} refuses calls, and is resumed`, async () => {
      const [location, folder] = [await migratedLocation(kind), temporaryFolder()];
      const before = await openHost(location);
      const ending = openDeletion(before, folder);
      for (const id of ["one", "two"]) await ending.stores.grants.issue(grant(id, { namespaceId: "acme" }));
      await ending.stores.files.write({ namespaceId: "acme", owner: alice }, ["a"], "a");
      for (const id of ["one", "two", "three"])
        await ending.stores.audit.record(auditEvent(id, { namespaceId: "acme" }));
      await ending.stores.tenants.begin("acme", order);
      await expect(ending.task.run(now, endingBefore(point))).rejects.toThrow("the host ended");
      await before.close();
      const database = await openHost(location);
      const next = openDeletion(database, folder);
      expect(await next.stores.tenants.isDeleted("acme")).toBe(true);
      expect((await next.verify()).why).toBeUndefined();
      await next.task.run(now, straight);
      expect(await next.stores.tenants.find("acme")).toMatchObject({ finishedAt: now.toISOString() });
      expect(await database.db.selectFrom("grants").selectAll().execute()).toEqual([]);
      expect(await database.db.selectFrom("contents").selectAll().execute()).toEqual([]);
      expect(await next.verify()).toEqual({ rows: 1, why: undefined });
    });
  }

  test("removes turns that wait, with the escalations that they wait for", async () => {
    const database = await openFresh(kind);
    const { stores, task } = openDeletion(database);
    for (const namespaceId of ["acme", "other"]) {
      const writer = await beginTurn(stores.turns, turnToBegin(namespaceId, "turn"));
      await writer.write([waitingEntry("escalation", "2999-01-01T00:00:00.000Z")], progress);
    }
    await stores.tenants.begin("acme", order);
    await task.run(now, straight);
    for (const table of ["turns", "turn_questions"] as const) {
      const left = await database.db.selectFrom(table).select("namespace_id").execute();
      expect(left).toEqual([{ namespace_id: "other" }]);
    }
  });

  test("removes nothing of a later tenant of the same name, although it began before that one", async () => {
    const database = await openFresh(kind);
    const { stores } = openDeletion(database);
    await stores.tenants.begin("acme", order);
    await stores.tenants.finish("acme", now.toISOString());
    const stale = await stores.tenants.list();
    expect(await stores.tenants.reopen("acme")).toBe(true);
    await stores.grants.issue(grant("new", { namespaceId: "acme" }));
    const late = openDeletion(database, undefined, { list: () => Promise.resolve(stale) });
    expect(await late.task.run(now, straight)).toBe(0);
    expect(await stores.grants.find("acme", "new")).toBeDefined();
  });

  test("removes escalations, permits and what was counted of them, the permits first", async () => {
    const database = await openFresh(kind);
    const { stores, task } = openDeletion(database);
    const { id, ask } = await askAct(stores, "acme");
    await stores.escalations.approve({ namespaceId: "acme", id, ask, by: "one", person: alice, at: order.at });
    expect(await stores.permits.use("acme", id)).toBe(true);
    await askAct(stores, "globex");
    await stores.tenants.begin("acme", order);
    const watching: RunStep = async (work) => {
      const result = await work();
      const state = await stores.permits.find("acme", ask, order.at);
      expect(state).toBeUndefined();
      return result;
    };
    await task.run(now, watching);
    expect(await database.db.selectFrom("uses").selectAll().execute()).toEqual([]);
    const left = await database.db.selectFrom("escalations").select("namespace_id").execute();
    expect(left).toEqual([{ namespace_id: "globex" }]);
  });

  test("leaves the audit log of a later tenant of the same name alone, although it began before that one", async () => {
    const database = await openFresh(kind);
    const { stores } = openDeletion(database);
    await stores.tenants.begin("acme", order);
    const stale = await stores.tenants.list();
    await stores.tenants.finish("acme", now.toISOString());
    expect(await stores.tenants.reopen("acme")).toBe(true);
    await stores.audit.record(auditEvent("new", { namespaceId: "acme" }));
    const late = openDeletion(database, undefined, { list: () => Promise.resolve(stale) });
    await late.task.run(now, straight);
    const rows = await stores.audit.list("acme", { limit: 9 });
    expect(rows.map(({ event }) => event.id)).toEqual(["new"]);
  });

  test("does not take an audit log for broken of which another host removed rows meanwhile", async () => {
    const { stores, parts, task, verify } = openDeletion(await openFresh(kind));
    const ids = Array.from({ length: 450 }, (_, place) => `event ${place}`);
    await Promise.all(ids.map((id) => stores.audit.record(auditEvent(id, { namespaceId: "acme" }))));
    await stores.tenants.begin("acme", order);
    let isOld = false;
    const besideRetention: RunStep = async (work) => {
      const result = await work();
      if (isOld || !(typeof result === "object" && result !== null)) return result;
      isOld = true;
      await exportAndRemove(parts, "acme", { now }, straight);
      return result;
    };
    await task.run(now, besideRetention);
    expect(isOld).toBe(true);
    const [last] = await stores.audit.list("acme", { limit: 1 });
    expect(last?.event.metadata).toMatchObject({ trail: "exported" });
    expect(await verify()).toEqual({ rows: 1, why: undefined });
  });
});
