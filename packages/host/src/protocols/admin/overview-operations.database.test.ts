import { describe, expect, test } from "vitest";
import { databaseKinds, newTenant, openFresh, openHost, newLocation, sharedDatabase } from "../../../test/databases.ts";
import {
  askIn,
  escalation,
  officeTime,
  openOffice,
  readPages,
  type Office,
  type Refusal,
} from "../../../test/office.ts";
import { bobAs } from "../../../test/operators.ts";
import { access, auditEvent, grant } from "../../../test/records.ts";
import { beginTurn, turnToBegin } from "../../../test/turn-journals.ts";
import type { AdminOutput, OperatorRole } from "../../admin-contract/index.ts";

type Tenants = AdminOutput<"listTenants">;

/** What an operator with a role in one tenant, or in all, gets. */
async function getAs(
  { stores, handler }: Office,
  role: OperatorRole,
  path: string,
  tenant?: string,
): Promise<{ status: number; body: unknown }> {
  const { token } = await stores.credentials.create({ namespaceId: "operators", access: bobAs(role, tenant) });
  const response = await handler(new Request(`http://host${path}`, { headers: { authorization: `Bearer ${token}` } }));
  return { status: response?.status ?? 0, body: await response?.json() };
}

describe.each(databaseKinds)("the overview on %s", (kind) => {
  const open = sharedDatabase(kind);

  describe("tenants", () => {
    test("are those with a credential, a grant or an audit log; not the operators' own, nor deleted ones", async () => {
      const office = await openOffice(await openFresh(kind));
      const { stores, get } = office;
      await stores.credentials.create({ namespaceId: "with-credential", access });
      await stores.grants.issue(grant("g", { namespaceId: "with-grant" }));
      await stores.audit.record(auditEvent("e", { namespaceId: "with-audit-log" }));
      await stores.grants.issue(grant("g", { namespaceId: "deleted" }));
      await stores.tenants.begin("deleted", { actor: access.owner, operator: "o", at: officeTime });
      const { body } = await get<Tenants>("/admin/v1/tenants");
      const names = ["acme", "with-audit-log", "with-credential", "with-grant"];
      expect(body).toEqual({ tenants: names.map((namespaceId) => ({ namespaceId, waiting: 0 })) });
      const pages = await readPages<Tenants>(office, "/admin/v1/tenants", { limit: 2 });
      expect(pages.flatMap(({ tenants }) => tenants.map(({ namespaceId }) => namespaceId))).toEqual(names);
      for (const namespaceId of ["deleted", "operators", "unknown"])
        expect((await get("/admin/v1/tenants", { namespaceId })).body).toEqual({ tenants: [] });
    });

    test("say how many escalations wait, without those that expired or were answered", async () => {
      const { stores, get, time, post } = await openOffice(await open());
      const [namespaceId, other] = [newTenant(), newTenant()];
      for (const tenant of [namespaceId, other]) await stores.grants.issue(grant("g", { namespaceId: tenant }));
      const { id, ask } = await askIn(stores, namespaceId);
      const wanted = { capabilities: escalation().requestedAuthority?.capabilities, constraints: { maxUses: 1 } };
      await askIn(stores, namespaceId, escalation({}, wanted));
      await askIn(stores, other);
      const waiting = async () => (await get<Tenants>("/admin/v1/tenants", { namespaceId })).body.tenants;
      expect(await waiting()).toEqual([{ namespaceId, waiting: 2 }]);
      expect((await post("/admin/v1/escalations/deny", { namespaceId, id, ask, reason: "No." })).status).toBe(200);
      expect(await waiting()).toEqual([{ namespaceId, waiting: 1 }]);
      time.now = "2026-01-03T12:00:00.000Z";
      expect(await waiting()).toEqual([{ namespaceId, waiting: 0 }]);
    });

    test("are one for an operator of one, whether they name it or not; naming another is refused", async () => {
      const office = await openOffice(await open());
      const [own, other] = [newTenant(), newTenant()];
      for (const namespaceId of [own, other]) await office.stores.grants.issue(grant("g", { namespaceId }));
      const only = { status: 200, body: { tenants: [{ namespaceId: own, waiting: 0 }] } };
      for (const query of ["", `?namespaceId=${own}`, "?limit=1"])
        expect(await getAs(office, "reviewer", `/admin/v1/tenants${query}`, own)).toEqual(only);
      const refused = await getAs(office, "reviewer", `/admin/v1/tenants?namespaceId=${other}`, own);
      expect([refused.status, (refused.body as Refusal).error.code]).toEqual([403, "permission_denied"]);
    });
  });

  test("activity has what happened in the tenant, and what waits and runs there now", async () => {
    const { stores, get, time } = await openOffice(await open());
    const [namespaceId, other] = [newTenant(), newTenant()];
    const denied = { outcome: "denied", reason: "no_matching_grant", type: "authorization.checked" } as const;
    for (const tenant of [namespaceId, other]) {
      await stores.audit.record(auditEvent("e1", { namespaceId: tenant, at: officeTime, ...denied }));
      await askIn(stores, tenant);
      await beginTurn(stores.turns, turnToBegin(tenant, "turn-1"));
    }
    const { body } = await get<AdminOutput<"readActivity">>("/admin/v1/activity", { namespaceId });
    const { minutes, ...now } = body;
    expect(now).toEqual({
      reasons: [{ reason: "no_matching_grant", count: 1 }],
      waiting: 1,
      turns: { running: 1, waiting: 0 },
    });
    expect(minutes.at(-1)).toEqual({ at: officeTime, allowed: 0, denied: 1, failed: 0 });
    time.now = "2026-01-03T12:00:00.000Z";
    const later = await get<AdminOutput<"readActivity">>("/admin/v1/activity", { namespaceId });
    expect([later.body.waiting, later.body.reasons]).toEqual([0, []]);
  });

  describe("hosts", () => {
    test("are those that run, with the turns that run there, and say which one answers", async () => {
      const location = await newLocation(kind);
      const first = await openHost(location);
      const stale = first.db.insertInto("hosts").values({ started_at: "2025-01-01T00:00:00.000Z" });
      await stale.execute();
      const office = await openOffice(first);
      await beginTurn(office.stores.turns, turnToBegin(newTenant(), "turn-1"));
      const hosts = async () => (await office.get<AdminOutput<"listHosts">>("/admin/v1/hosts")).body;
      const here = { id: first.hostId, startedAt: expect.any(String) as string, isThis: true, turns: 1 };
      const about = {
        version: expect.stringMatching(/^\d/) as string,
        database: kind === "postgres" ? "postgresql" : "embedded",
      };
      expect(await hosts()).toEqual({ hosts: [here], ...about });
      if (kind === "sqlite") return;
      const second = await openHost(location);
      const there = { id: second.hostId, startedAt: expect.any(String) as string, isThis: false, turns: 0 };
      expect(await hosts()).toEqual({ hosts: [here, there], ...about });
      await second.close();
      await expect.poll(hosts).toEqual({ hosts: [here], ...about });
    });

    test("are for operators of all tenants who read", async () => {
      const office = await openOffice(await open());
      expect((await getAs(office, "auditor", "/admin/v1/hosts")).status).toBe(200);
      expect((await getAs(office, "reviewer", "/admin/v1/hosts")).status).toBe(403);
      expect((await getAs(office, "admin", "/admin/v1/hosts", "acme")).status).toBe(403);
    });
  });

  test("audit heads are the ends of the tenant's chains, and the last checkpoint once there is one", async () => {
    const { stores, checkpoints, get, time } = await openOffice(await open());
    const namespaceId = newTenant();
    const read = async () => (await get<AdminOutput<"readAuditHeads">>("/admin/v1/audit/heads", { namespaceId })).body;
    expect(await read()).toEqual({ heads: [] });
    for (const id of ["e1", "e2"]) await stores.audit.record(auditEvent(id, { namespaceId }));
    const { heads } = await stores.audit.verify(namespaceId);
    expect(heads).toMatchObject([{ sequence: 2 }]);
    expect(await read()).toEqual({ heads });
    time.now = "2026-01-01T12:30:00.000Z";
    await checkpoints.write();
    const first = await read();
    expect(first).toEqual({ heads, checkpoint: { sequence: expect.any(Number) as number, at: time.now } });
    await stores.audit.record(auditEvent("e3", { namespaceId }));
    await checkpoints.write();
    expect((await read()).checkpoint?.sequence).toBe((first.checkpoint?.sequence ?? 0) + 1);
  });

  test("a checkpoint from before is known once the file was read", async () => {
    const database = await open();
    const before = await openOffice(database);
    await before.stores.audit.record(auditEvent("e1", { namespaceId: newTenant() }));
    await before.checkpoints.write();
    const after = await openOffice(database, { checkpointFile: before.checkpointFile });
    expect(after.checkpoints.last).toBeUndefined();
    await after.checkpoints.write();
    expect(after.checkpoints.last?.sequence).toBeGreaterThanOrEqual(before.checkpoints.last?.sequence ?? Infinity);
  });
});
