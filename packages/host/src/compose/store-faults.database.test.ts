import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { databaseKinds, newTenant, openFresh, sharedDatabase } from "../../test/databases.ts";
import { failingAt, recordStatements } from "../../test/watched-database.ts";
import { access, alice, assistant, auditEvent, context, grant, neverAborted, now, scope } from "../../test/records.ts";
import type { Database } from "../storage/database.ts";
import type { ReplayKey } from "../ledger/replay-store.ts";
import { openStores, type Stores } from "./stores.ts";

/** What a tenant has before the operation under test. */
interface Seed {
  tenant: string;
  credential: { id: string; token: string };
}

interface Operation {
  name: string;
  /** What the same stores have to do first; it does not fail. */
  prepare?(stores: Stores, seed: Seed): Promise<unknown>;
  run(stores: Stores, seed: Seed): Promise<unknown>;
}

function replayKey(namespaceId: string, id: string): ReplayKey {
  return { namespaceId, actor: "agent:assistant", kind: "tool", scope: "trace-1", id };
}

const operations: Operation[] = [
  { name: "grants.issue", run: ({ grants }, { tenant }) => grants.issue(grant("new", { namespaceId: tenant })) },
  { name: "grants.revoke", run: ({ grants }, { tenant }) => grants.revoke(tenant, "seeded", now) },
  {
    name: "grants.load",
    run: ({ grants }, { tenant }) => grants.load({ ...scope, namespaceId: tenant }, neverAborted),
  },
  { name: "grants.find", run: ({ grants }, { tenant }) => Promise.resolve(grants.find?.(tenant, "seeded")) },
  { name: "grants.list", run: ({ grants }, { tenant }) => grants.list(tenant, { limit: 9 }) },
  { name: "grants.descendants", run: ({ grants }, { tenant }) => grants.descendants(tenant, "seeded", 9) },
  { name: "usage.consume, the first time", run: ({ usage }, { tenant }) => usage.consume(tenant, "new", 3) },
  { name: "usage.consume, again", run: ({ usage }, { tenant }) => usage.consume(tenant, "seeded", 3) },
  { name: "usage.used", run: ({ usage }, { tenant }) => usage.used(tenant, "seeded") },
  {
    name: "settings.applyUpdate",
    run: ({ settings }, { tenant }) =>
      settings.applyUpdate(context({ namespaceId: tenant }), { enable: ["new"], disable: ["seeded"] }, neverAborted),
  },
  {
    name: "settings.change",
    run: ({ settings }, { tenant }) =>
      settings.change({ namespaceId: tenant, actor: assistant }, { enable: ["new"], disable: ["seeded"] }),
  },
  { name: "settings.enabled", run: ({ settings }, { tenant }) => settings.enabled(tenant, assistant) },
  {
    name: "credentials.create",
    run: ({ credentials }, { tenant }) => credentials.create({ namespaceId: tenant, access }),
  },
  { name: "credentials.find", run: ({ credentials }, { credential }) => credentials.find(credential.id) },
  {
    name: "credentials.list",
    run: ({ credentials }, { tenant }) => credentials.list({ namespaceId: tenant, limit: 9 }),
  },
  { name: "credentials.revoke", run: ({ credentials }, { credential }) => credentials.revoke(credential.id, now) },
  {
    name: "credentials.verify",
    run: ({ credentials }, { credential }) => credentials.verify(credential.token, new Date(now)),
  },
  { name: "audit.record", run: ({ audit }, { tenant }) => audit.record(auditEvent("new", { namespaceId: tenant })) },
  { name: "audit.list", run: ({ audit }, { tenant }) => audit.list(tenant, { limit: 9 }) },
  { name: "audit.verify", run: ({ audit }, { tenant }) => audit.verify(tenant) },
  { name: "audit.listHeads", run: ({ audit }) => audit.listHeads(undefined, 9) },
  { name: "audit.isKnown", run: ({ audit }, { tenant }) => audit.isKnown(tenant) },
  {
    name: "audit.findBreak",
    run: ({ audit }, { tenant }) => audit.findBreak(tenant, [{ strand: 0, sequence: 1, hash: "none" }]),
  },
  { name: "replay.begin", run: ({ replay }, { tenant }) => replay.begin(replayKey(tenant, "new"), "one") },
  { name: "replay.begin, again", run: ({ replay }, { tenant }) => replay.begin(replayKey(tenant, "running"), "one") },
  {
    name: "replay.finish",
    prepare: ({ replay }, { tenant }) => replay.begin(replayKey(tenant, "to finish"), "one"),
    run: ({ replay }, { tenant }) => replay.finish(replayKey(tenant, "to finish"), { ok: true }),
  },
  {
    name: "replay.release",
    prepare: ({ replay }, { tenant }) => replay.begin(replayKey(tenant, "to release"), "one"),
    run: ({ replay }, { tenant }) => replay.release(replayKey(tenant, "to release")),
  },
  {
    name: "replay.forgetResults",
    run: ({ replay }) => replay.forgetResults("writes", "2999-01-01T00:00:00.000Z", 200),
  },
  { name: "files.write, the first time", run: ({ files }, { tenant }) => files.write(mine(tenant), ["new"], "new") },
  { name: "files.write, again", run: ({ files }, { tenant }) => files.write(mine(tenant), ["seeded"], "new") },
  { name: "files.read", run: ({ files }, { tenant }) => files.read(mine(tenant), ["seeded"]) },
  { name: "files.walk", run: ({ files }, { tenant }) => files.walk(mine(tenant), []).next() },
];

function mine(namespaceId: string) {
  return { namespaceId, owner: alice };
}

async function seed(database: Database): Promise<Seed> {
  const stores = openStores(database);
  const tenant = newTenant();
  await stores.grants.issue(grant("seeded", { namespaceId: tenant }));
  await stores.usage.consume(tenant, "seeded", 3);
  await stores.settings.applyUpdate(context({ namespaceId: tenant }), { enable: ["seeded"] }, neverAborted);
  await stores.audit.record(auditEvent("seeded", { namespaceId: tenant }));
  for (const id of ["running", "finished"]) await stores.replay.begin(replayKey(tenant, id), "one");
  await stores.replay.finish(replayKey(tenant, "finished"), { ok: true });
  await stores.files.write(mine(tenant), ["seeded"], "seeded");
  return { tenant, credential: await stores.credentials.create({ namespaceId: tenant, access }) };
}

const tables = [
  "grants",
  "uses",
  "namespace_settings",
  "credentials",
  "audit_heads",
  "audit",
  "replay",
  "files",
] as const;

/** Everything the database has of a tenant. */
async function stateOf({ db }: Database, { tenant }: Seed): Promise<string> {
  const state: unknown[] = [];
  for (const table of tables) {
    const rows = await db.selectFrom(table).selectAll().where("namespace_id", "=", tenant).execute();
    state.push([table, rows.map((row) => JSON.stringify(row)).toSorted()]);
  }
  return JSON.stringify(state, null, 1);
}

/** Whether the operation was refused; a store that hangs fails the test by its time limit. */
function isRefused(operation: Promise<unknown>): Promise<boolean> {
  return operation.then(
    () => false,
    () => true,
  );
}

describe.each(databaseKinds)("when a statement fails on %s", (kind) => {
  const open = sharedDatabase(kind);

  // What failed is tried again in the background: not before the state was read.
  beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
  afterEach(() => void vi.useRealTimers());

  /** The statements of an operation, and how many ran to prepare it. */
  const statementsOf = async ({ prepare, run }: Operation): Promise<{ prepared: number; statements: string[] }> => {
    const { database, statements } = recordStatements(await open());
    const [stores, seeded] = [openStores(database), await seed(await open())];
    await prepare?.(stores, seeded);
    const prepared = statements.splice(0).length;
    await run(stores, seeded);
    return { prepared, statements };
  };

  for (const operation of operations) {
    const { name, prepare, run } = operation;
    test(`${name} rejects, whichever statement it is; nothing is half written and nothing is lost`, async () => {
      const database = await open();
      const { prepared, statements } = await statementsOf(operation);
      const problems: string[] = [];
      for (const [place, statement] of statements.entries()) {
        const seeded = await seed(database);
        const stores = openStores(failingAt(database, prepared + place + 1, "before"));
        await prepare?.(stores, seeded);
        const before = await stateOf(database, seeded);
        if (!(await isRefused(run(stores, seeded)))) problems.push(`acknowledged without ${statement}`);
        if ((await stateOf(database, seeded)) !== before) problems.push(`half written without ${statement}`);
        if (await isRefused(run(stores, seeded))) problems.push(`stuck after ${statement} failed`);
      }
      expect(statements.length).toBeGreaterThan(0);
      expect(problems).toEqual([]);
    });

    test(`${name} rejects when an answer is lost; only a whole change can have happened`, async () => {
      const database = await open();
      const { prepared, statements } = await statementsOf(operation);
      const isInTransaction = statements.includes("commit");
      const problems: string[] = [];
      for (const [place, statement] of statements.entries()) {
        // An answer is lost with its connection, and a transaction that only began is lost with it.
        if (statement === "begin") continue;
        const seeded = await seed(database);
        const stores = openStores(failingAt(database, prepared + place + 1, "after"));
        await prepare?.(stores, seeded);
        const before = await stateOf(database, seeded);
        if (!(await isRefused(run(stores, seeded)))) problems.push(`acknowledged without an answer to ${statement}`);
        const isUndone = (await stateOf(database, seeded)) === before;
        if (isInTransaction && statement !== "commit" && !isUndone) problems.push(`half written by ${statement}`);
        const { broken } = await openStores(database).audit.verify(seeded.tenant);
        if (broken !== undefined) problems.push(`a broken trail after ${statement}`);
      }
      expect(problems).toEqual([]);
    });
  }

  test("every operation rejects when the database is gone", async () => {
    const database = await openFresh(kind);
    const seeded = await seed(database);
    const stores = openStores(database);
    for (const { prepare } of operations) await prepare?.(stores, seeded);
    await database.close();
    const refused = await Promise.all(operations.map(({ run }) => isRefused(run(stores, seeded))));
    expect(operations.filter((_, place) => !refused[place]).map(({ name }) => name)).toEqual([]);
  });
});
