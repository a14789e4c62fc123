import { readdirSync } from "node:fs";
import { join } from "node:path";
import { sql } from "kysely";
import { describe, expect, test } from "vitest";
import type { AuditEvent } from "turnpike/contracts";
import { signedIn } from "../../../test/admin-rows.ts";
import { askPerson, connectedTokens } from "../../../test/connections.ts";
import { envelope } from "../../../test/counting-api.ts";
import { databaseKinds, newTenant, openFresh, openPair, sharedDatabase } from "../../../test/databases.ts";
import { askIn, oona, openOffice, type Office, type Refusal } from "../../../test/office.ts";
import { access, alice, context, grant, neverAborted } from "../../../test/records.ts";
import { beginTurn, endedEntry, eventEntries, progress, turnToBegin } from "../../../test/turn-journals.ts";
import { verifyExport } from "../../audit/index.ts";
import { openStores } from "../../compose/stores.ts";
import type { Database } from "../../storage/database.ts";
import type { Stores } from "../../compose/stores.ts";

const path = "/admin/v1/tenants/delete";

/** Puts something of every kind into a tenant; returns the token of its credential. */
async function fill({ stores }: Office, namespaceId: string): Promise<string> {
  const mine = { namespaceId, owner: alice };
  await stores.grants.issue(grant("one", { namespaceId, constraints: { maxUses: 3 } }), "credential-1");
  await stores.invariants.add({ id: "rule", namespaceId, never: { resource: "crm" } }, envelope.createdAt);
  await stores.usage.consume(namespaceId, "one", 3);
  const person = await signedIn(stores, namespaceId);
  await connectedTokens(stores, person);
  await askPerson(stores, person);
  await stores.settings.applyUpdate(context({ namespaceId }), { enable: ["files"] }, neverAborted);
  await askIn(stores, namespaceId);
  for (const id of ["read", "unread"])
    await stores.messages.deliver({ ...envelope, id }, namespaceId, envelope.createdAt);
  await stores.messages.acknowledge({ namespaceId, receiver: alice }, ["read"], envelope.createdAt);
  for (const name of ["a", "b"]) await stores.files.write(mine, ["notes", name], `content of ${name}`);
  await stores.files.snapshots.create(mine, ["notes"], "before", {
    covers: () => Promise.resolve(true),
    signal: neverAborted,
  });
  await stores.files.write(mine, ["notes", "a"], "another content");
  const key = { namespaceId, actor: "agent:assistant", kind: "tool", scope: "trace-1" } as const;
  for (const id of ["running", "finished"]) await stores.replay.begin({ ...key, id }, "one");
  await stores.replay.finish({ ...key, id: "finished" }, { status: "succeeded" });
  for (const id of ["running", "ended"]) {
    const writer = await beginTurn(stores.turns, turnToBegin(namespaceId, id));
    await writer.write([...eventEntries(), ...(id === "ended" ? [endedEntry(id)] : [])], progress);
  }
  return (await stores.credentials.create({ namespaceId, access })).token;
}

/** Something that a webhook has not been told yet, something that it was, an answer to an escalation, an act, and one that waits. */
async function putMessage({ db }: Database, namespaceId: string): Promise<void> {
  const at = { created_at: envelope.createdAt, due_at: envelope.createdAt };
  const message = { webhook: "w", message: "m", type: "escalation.opened", content: "{}", ...at };
  await db
    .insertInto("outbox")
    .values({ ...message, namespace_id: namespaceId })
    .execute();
  await db
    .insertInto("escalation_answers")
    .values({ credential_id: "operator-1", namespace_id: namespaceId, escalation_id: "q" })
    .execute();
  await db
    .insertInto("acts")
    .values({
      namespace_id: namespaceId,
      actor: "agent:a",
      scope: "t",
      id: "a",
      nonce: "n",
      fingerprint: "f",
      expires_at: envelope.createdAt,
      content: "{}",
      status: null,
      outcome: null,
      completed_at: null,
      is_late: 0,
    })
    .execute();
  await db
    .insertInto("waiting_acts")
    .values({
      namespace_id: namespaceId,
      actor: "agent:a",
      scope: "t",
      id: "b",
      ask: "h",
      asked_at: envelope.createdAt,
    })
    .execute();
  const { due_at: finished_at, ...told } = message;
  await db
    .insertInto("webhook_history")
    .values({ ...told, namespace_id: namespaceId, state: "delivered", attempts: 1, finished_at })
    .execute();
}

/** The tables with a tenant's rows that have to go with it: a new one needs its line above, and to be deleted. */
async function tablesToFill({ db }: Database): Promise<string[]> {
  const stay = new Set(["audit", "audit_anchors", "audit_heads", "deleted_tenants", "running_turns"]);
  const tables = await db.introspection.getTables();
  const ofTenants = tables.filter(({ columns }) => columns.some(({ name }) => name === "namespace_id"));
  return ofTenants.flatMap(({ name }) => (stay.has(name) ? [] : name)).toSorted();
}

/** How many rows of a tenant every table has that names tenants. */
async function countRows({ db }: Database, namespaceId: string): Promise<Record<string, number>> {
  const counts: Record<string, number> = {};
  for (const { name, columns } of await db.introspection.getTables()) {
    if (!columns.some((column) => column.name === "namespace_id")) continue;
    const query = sql<{
      count: number;
    }>`select count(*) as count from ${sql.table(name)} where namespace_id = ${namespaceId}`;
    const count = Number((await query.execute(db)).rows[0]?.count ?? 0);
    if (count > 0) counts[name] = count;
  }
  return counts;
}

/** An escalation that a turn of the tenant waits for. */
async function putEscalation({ db }: Database, namespaceId: string): Promise<void> {
  const { id } = await db
    .selectFrom("turns")
    .select("id")
    .where("namespace_id", "=", namespaceId)
    .executeTakeFirstOrThrow();
  const row = { turn: id, place: 0, namespace_id: namespaceId, question_id: "q", expires_at: "9999", content: "{}" };
  await db.insertInto("turn_questions").values(row).execute();
}

async function countEntries({ db }: Database): Promise<number> {
  return (await db.selectFrom("turn_entries").select("turn").execute()).length;
}

async function countWords({ db }: Database): Promise<number> {
  return Number((await sql<{ count: number }>`select count(*) as count from words`.execute(db)).rows[0]?.count);
}

async function deleteTenant(office: Office, namespaceId: string): Promise<boolean> {
  const { status, body } = await office.post<{ isFinished: boolean }>(path, { namespaceId, confirm: namespaceId });
  expect(status).toBe(200);
  return body.isFinished;
}

async function auditLogOf({ stores }: { stores: Pick<Stores, "audit"> }, namespaceId: string): Promise<AuditEvent[]> {
  const rows = await stores.audit.list(namespaceId, { limit: 100 });
  return rows.toSorted((one, other) => one.sequence - other.sequence).map(({ event }) => event);
}

describe.each(databaseKinds)("deleting a tenant on %s", (kind) => {
  const open = sharedDatabase(kind);

  describe("in the operators' own tenant nothing is given to anyone:", () => {
    const namespaceId = "operators";
    const id = "given";
    const parent = grant("before", { namespaceId });
    const rows: { name: string; path: string; body: object }[] = [
      { name: "a grant", path: "grants", body: grant(id, { namespaceId }) },
      {
        name: "a derived grant",
        path: "grants/derive",
        body: { namespaceId, parentId: parent.id, id, subject: alice },
      },
      {
        name: "a file of grants",
        path: "grants/apply",
        body: { namespaceId, dryRun: true, issue: [{ ...grant(id), namespaceId: undefined, issuedAt: undefined }] },
      },
      {
        name: "tool namespaces",
        path: "namespaces",
        body: { namespaceId, actor: alice, update: { enable: ["files"] } },
      },
    ];
    const message =
      "/namespaceId: operators is the tenant of the operators, in which no agent can act. Name another one.";
    for (const row of rows)
      test(`not ${row.name}`, async () => {
        const adminApi = await openOffice(await openFresh(kind));
        await adminApi.stores.grants.issue(parent);
        const answer = await adminApi.post<Refusal>(`/admin/v1/${row.path}`, row.body);
        expect([answer.status, answer.body.error.code, answer.body.error.message]).toEqual([
          400,
          "invalid_request",
          message,
        ]);
        expect(await adminApi.stores.grants.find(namespaceId, id)).toBeUndefined();
        const there = { ...row.body, namespaceId: "acme" };
        expect((await adminApi.post<Refusal>(`/admin/v1/${row.path}`, there)).body.error?.message).not.toBe(message);
      });

    test("what is there from before is taken away like any other", async () => {
      const adminApi = await openOffice(await openFresh(kind));
      await adminApi.stores.grants.issue(parent);
      expect((await adminApi.post("/admin/v1/grants/revoke", { namespaceId, id: parent.id })).status).toBe(200);
    });
  });

  test("refuses its callers at once, and leaves nothing of it but the end of its audit log", async () => {
    const database = await openFresh(kind);
    const office = await openOffice(database);
    const beside = newTenant();
    const token = await fill(office, "gone");
    await fill(office, beside);
    for (const namespaceId of ["gone", beside]) {
      await putMessage(database, namespaceId);
      await putEscalation(database, namespaceId);
    }
    const [others, words] = [await countRows(database, beside), await countWords(database)];
    const entries = await countEntries(database);
    expect(Object.keys(others).toSorted()).toEqual(await tablesToFill(database));

    expect(await deleteTenant(office, "gone")).toBe(false);
    expect(await office.stores.credentials.verify(token, new Date())).toBeUndefined();
    expect(await office.stores.tenants.isDeleted("gone")).toBe(true);
    expect(await office.stores.tenants.isDeleted(beside)).toBe(false);

    await office.removeDeletedTenants();
    expect(await deleteTenant(office, "gone")).toBe(true);
    expect(await countRows(database, "gone")).toEqual({
      audit: 1,
      audit_anchors: 1,
      audit_heads: 1,
      deleted_tenants: 1,
    });
    expect(await countRows(database, beside)).toEqual(others);
    expect(await countWords(database)).toBe(words / 2);
    expect(await countEntries(database)).toBe(entries / 2);
  });

  test("is in its audit log: what came before is exported, and the last row says who deleted it", async () => {
    const office = await openOffice(await open());
    const namespaceId = newTenant();
    await office.post("/admin/v1/grants", grant("one", { namespaceId }));
    await office.checkpoints.write();
    await deleteTenant(office, namespaceId);
    await office.checkpoints.write();
    expect((await auditLogOf(office, namespaceId)).slice(-2)).toMatchObject([
      { action: "tenant.delete", outcome: "allowed", actor: oona },
      { action: "tenant.delete", outcome: "succeeded", actor: oona },
    ]);
    await office.removeDeletedTenants();
    expect(await auditLogOf(office, namespaceId)).toMatchObject([
      {
        action: "tenant.deleted",
        outcome: "succeeded",
        actor: oona,
        metadata: { operator: office.operatorId, trail: "exported" },
      },
    ]);
    const file = readdirSync(office.exportFolder).find((name) => name.startsWith(namespaceId)) ?? "";
    expect(await verifyExport(join(office.exportFolder, file), office.checkpoints.key)).toMatchObject({ rows: 4 });
    const verified = await office.get("/admin/v1/audit/verify", { namespaceId });
    // Both checkpoints are of rows that went.
    const exported = [{ strand: 0, sequence: 4 }];
    expect(verified.body).toMatchObject({ isWhole: true, rows: 1, exported, checkpoints: 2 });
  });

  test("lets one of the same name begin anew once it is gone, whose audit log continues the old one's", async () => {
    const office = await openOffice(await open());
    const namespaceId = newTenant();
    await fill(office, namespaceId);
    await deleteTenant(office, namespaceId);
    const create = () => office.post<Refusal>("/admin/v1/grants", grant("two", { namespaceId }));
    expect(await create()).toMatchObject({ status: 409, body: { error: { code: "conflict" } } });
    await office.removeDeletedTenants();
    const derive = { namespaceId, parentId: "one", id: "child", subject: alice };
    expect(await office.post("/admin/v1/grants/derive", derive)).toMatchObject({ status: 409 });
    expect(await create()).toMatchObject({ status: 201 });
    expect(await office.stores.tenants.isDeleted(namespaceId)).toBe(false);
    await office.removeDeletedTenants();
    expect(await office.stores.grants.find(namespaceId, "two")).toBeDefined();
    expect(await office.stores.grants.find(namespaceId, "one")).toBeUndefined();
    const verified = await office.get<{ rows: number }>("/admin/v1/audit/verify", { namespaceId });
    expect(verified.body).toMatchObject({ isWhole: true, rows: 3 });
    expect(await deleteTenant(office, namespaceId)).toBe(false);
  });

  test("removes what a call that was under way wrote afterwards, the next time", async () => {
    const office = await openOffice(await open());
    const namespaceId = newTenant();
    await fill(office, namespaceId);
    await deleteTenant(office, namespaceId);
    await office.removeDeletedTenants();
    await office.stores.files.write({ namespaceId, owner: alice }, ["late"], "late");
    await office.removeDeletedTenants();
    expect(await office.stores.files.read({ namespaceId, owner: alice }, ["late"])).toBeUndefined();
    expect(await auditLogOf(office, namespaceId)).toHaveLength(1);
  });

  test("lets none of the same name begin while something is left that a call under way wrote afterwards", async () => {
    const office = await openOffice(await open());
    const namespaceId = newTenant();
    await fill(office, namespaceId);
    await deleteTenant(office, namespaceId);
    await office.removeDeletedTenants();
    const create = () => office.post("/admin/v1/grants", grant("two", { namespaceId }));
    for (const write of [
      () => office.stores.files.write({ namespaceId, owner: alice }, ["late"], "late"),
      () => office.stores.usage.consume(namespaceId, "one", 5),
    ]) {
      await write();
      expect(await create()).toMatchObject({ status: 409 });
      await office.removeDeletedTenants();
    }
    expect(await create()).toMatchObject({ status: 201 });
    expect(await office.stores.files.read({ namespaceId, owner: alice }, ["late"])).toBeUndefined();
  });

  test("leaves an audit log that is broken as it is", async () => {
    const database = await open();
    const office = await openOffice(database);
    const namespaceId = newTenant();
    for (const id of ["one", "two"]) await office.post("/admin/v1/grants", grant(id, { namespaceId }));
    const rows = database.db.updateTable("audit").where("namespace_id", "=", namespaceId);
    await rows.set({ outcome: "denied" }).where("sequence", "=", 2).execute();
    await deleteTenant(office, namespaceId);
    await office.removeDeletedTenants();
    expect(await deleteTenant(office, namespaceId)).toBe(true);
    const events = await auditLogOf(office, namespaceId);
    expect(events).toHaveLength(7);
    expect(events.at(-1)).toMatchObject({
      action: "tenant.deleted",
      metadata: { trail: "kept, because it is broken" },
    });
  });

  for (const row of [
    { name: "whose name is not confirmed", body: { namespaceId: "one", confirm: "two" }, status: 400 },
    { name: "that is the operators' own", body: { namespaceId: "operators", confirm: "operators" }, status: 400 },
    { name: "of which nothing is known", body: { namespaceId: "unknown", confirm: "unknown" }, status: 404 },
  ]) {
    test(`refuses one ${row.name}`, async () => {
      const office = await openOffice(await open());
      expect(await office.post(path, row.body)).toMatchObject({ status: row.status });
      expect(await office.stores.tenants.find(row.body.namespaceId)).toBeUndefined();
    });
  }
});

test("a tenant that is deleted through one host has no caller on another, from the next call on", async () => {
  const [one, other] = await openPair();
  const office = await openOffice(one);
  const beside = openStores(other);
  const token = await fill(office, "acme");
  expect(await beside.credentials.verify(token, new Date())).toBeDefined();
  expect(await beside.tenants.isDeleted("acme")).toBe(false);
  await deleteTenant(office, "acme");
  expect(await beside.credentials.verify(token, new Date())).toBeUndefined();
  expect(await beside.tenants.isDeleted("acme")).toBe(true);
});
