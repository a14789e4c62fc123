import { describe, expect, test } from "vitest";
import { databaseKinds, newTenant, openFresh, openPair, sharedDatabase } from "../../../test/databases.ts";
import { bob, changesIn, openOffice, type Office, type Refusal } from "../../../test/office.ts";
import { bobAs, enterAs, sendAs } from "../../../test/operators.ts";
import { access, grant } from "../../../test/records.ts";
import { beginTurn, turnToBegin } from "../../../test/turn-journals.ts";

interface Made {
  id: string;
  token: string;
}

const credentials = "/admin/v1/credentials";

async function statusOf(answer: Promise<{ status: number; body: unknown }>): Promise<unknown> {
  const { status, body } = await answer;
  return status < 400 ? status : [status, (body as Refusal).error.code];
}

const denied = [403, "permission_denied"];
const unknown = [404, "not_found"];
const conflict = [409, "conflict"];

describe.each(databaseKinds)("operators with a role on %s", (kind) => {
  const open = sharedDatabase(kind);
  const office = async (): Promise<Office> => openOffice(await open());

  test("a credential from before there were roles is an admin's of all tenants", async () => {
    const adminApi = await office();
    const before = { actor: bob, owner: bob, purposes: ["operate"], admin: true };
    const { token } = await adminApi.stores.credentials.create({ namespaceId: "operators", access: before });
    expect(await statusOf(sendAs(adminApi, token, "/admin/v1/audit/checkpoints"))).toBe(200);
    const made = { namespaceId: "operators", access: bobAs("auditor") };
    expect(await statusOf(sendAs(adminApi, token, credentials, made))).toBe(201);
  });

  test("an operator that is made has the role and the tenant that it was made with, which the audit log says", async () => {
    const adminApi = await office();
    const tenant = newTenant();
    const { body } = await adminApi.post<Made>(credentials, {
      namespaceId: "operators",
      access: bobAs("auditor", tenant),
    });
    expect(await statusOf(sendAs(adminApi, body.token, `/admin/v1/grants?namespaceId=${tenant}`))).toBe(200);
    expect(await statusOf(sendAs(adminApi, body.token, "/admin/v1/grants?namespaceId=acme"))).toEqual(denied);
    const changes = (await changesIn(adminApi, "operators")).filter(
      ({ metadata }) => metadata?.["credential"] === body.id,
    );
    expect(changes.map(({ metadata }) => [metadata?.["role"], metadata?.["tenant"]])).toEqual([
      ["auditor", tenant],
      ["auditor", tenant],
    ]);
  });

  for (const row of [
    { name: "a role without being an operator", access: { ...access, role: "auditor" }, place: "/access/role" },
    { name: "a tenant without being an operator", access: { ...access, tenant: "acme" }, place: "/access/tenant" },
    { name: "a role and `admin`: false", access: { ...access, admin: false, role: "admin" }, place: "/access/role" },
    { name: "an unknown role", access: { ...bobAs("admin"), role: "owner" }, place: "/access/role" },
    { name: "the operators' own tenant", access: bobAs("admin", "operators"), place: "/access/tenant" },
  ]) {
    test(`no credential is made that has ${row.name}`, async () => {
      const adminApi = await office();
      for (const namespaceId of ["acme", "operators"]) {
        const { status, body } = await adminApi.post<Refusal>(credentials, { namespaceId, access: row.access });
        expect([status, body.error.message]).toEqual([400, expect.stringContaining(row.place)]);
      }
    });
  }

  test("the role is checked before the body is read", async () => {
    const auditor = await enterAs(await office(), "auditor");
    expect(await statusOf(auditor.send(credentials, { nonsense: true }))).toEqual(denied);
  });

  test("a change by an operator of one tenant is in its audit log with their name", async () => {
    const adminApi = await office();
    const tenant = newTenant();
    const { id, send } = await enterAs(adminApi, "admin", tenant);
    expect(await statusOf(send("/admin/v1/grants", grant("grant-1", { namespaceId: tenant })))).toBe(201);
    for (const event of await changesIn(adminApi, tenant))
      expect(event).toMatchObject({ actor: bob, owner: bob, metadata: { operator: id } });
  });

  describe("a list of all tenants", () => {
    test("of credentials has those of their tenant alone for an operator of one, on every page", async () => {
      const adminApi = await office();
      const [tenant, other] = [newTenant(), newTenant()];
      const own: string[] = [];
      for (const namespaceId of [tenant, other, tenant, other]) {
        const { id } = await adminApi.stores.credentials.create({ namespaceId, access });
        if (namespaceId === tenant) own.push(id);
      }
      const { send } = await enterAs(adminApi, "auditor", tenant);
      const { body } = await send<{ credentials: Made[]; cursor?: string }>(`${credentials}?limit=1`);
      const next = await send<{ credentials: Made[]; cursor?: string }>(`${credentials}?limit=1&cursor=${body.cursor}`);
      const seen = [...body.credentials, ...next.body.credentials].map(({ id }) => id);
      expect([seen, next.body.cursor]).toEqual([own.toSorted(), undefined]);
    });

    test("of turns has those of their tenant alone for an operator of one", async () => {
      const adminApi = await office();
      const [tenant, other] = [newTenant(), newTenant()];
      for (const namespaceId of [tenant, other])
        await beginTurn(adminApi.stores.turns, turnToBegin(namespaceId, `turn of ${namespaceId}`));
      const { send } = await enterAs(adminApi, "admin", tenant);
      const { body } = await send<{ turns: { namespaceId: string }[] }>("/admin/v1/turns");
      expect(body.turns.map(({ namespaceId }) => namespaceId)).toEqual([tenant]);
    });
  });

  describe("who is an operator is decided by admins of all tenants", () => {
    test("an admin of one tenant makes none and revokes none", async () => {
      const adminApi = await office();
      const tenant = newTenant();
      const { id, send } = await enterAs(adminApi, "admin", tenant);
      const other = await enterAs(adminApi, "auditor", tenant);
      expect(await statusOf(send(credentials, { namespaceId: "operators", access: bobAs("admin") }))).toEqual(denied);
      expect(await statusOf(send(credentials, { namespaceId: tenant, access: bobAs("admin") }))).toEqual([
        400,
        "invalid_request",
      ]);
      for (const verb of ["revoke", "rotate"])
        expect(await statusOf(send(`${credentials}/${verb}`, { id: other.id }))).toEqual(unknown);
      expect(await statusOf(send(`${credentials}/revoke`, { id, force: true }))).toEqual(unknown);
      expect(await statusOf(other.send(`/admin/v1/grants?namespaceId=${tenant}`))).toBe(200);
    });

    test("those of one tenant end with it, and are not those of a later one of its name", async () => {
      const adminApi = await openOffice(await openFresh(kind));
      const { stores, time, removeDeletedTenants } = adminApi;
      await stores.grants.issue(grant("grant-1", { namespaceId: "acme" }));
      const theirs = await enterAs(adminApi, "admin", "acme");
      const others = await enterAs(adminApi, "admin", "acme-2");
      const everywhere = await enterAs(adminApi, "admin");
      const remove = { namespaceId: "acme", confirm: "acme" };
      expect(await statusOf(theirs.send("/admin/v1/tenants/delete", remove))).toEqual(denied);
      expect(await statusOf(everywhere.send("/admin/v1/tenants/delete", remove))).toBe(200);
      const list = "/admin/v1/grants?namespaceId=acme";
      expect(await statusOf(theirs.send(list))).toEqual([401, "unauthenticated"]);
      time.now = "2026-01-02T00:00:00.000Z";
      await removeDeletedTenants();
      expect(await statusOf(everywhere.send("/admin/v1/grants", grant("g", { namespaceId: "acme" })))).toBe(201);
      expect(await statusOf(theirs.send(list))).toEqual([401, "unauthenticated"]);
      expect(await statusOf(everywhere.send(list))).toBe(200);
      expect(await statusOf(others.send(`${list}-2`))).toBe(200);
    });
  });

  describe("the last admin of all tenants", () => {
    test("stays: an auditor, an admin of one tenant and one that expired are not another", async () => {
      const adminApi = await openOffice(await openFresh(kind));
      await enterAs(adminApi, "auditor");
      await enterAs(adminApi, "admin", "acme");
      const expired = { namespaceId: "operators", access: bobAs("admin"), expiresAt: "2020-01-01T00:00:00Z" };
      await adminApi.stores.credentials.create(expired);
      const gone = await adminApi.stores.credentials.create({ namespaceId: "operators", access: bobAs("admin") });
      expect(await statusOf(adminApi.post(`${credentials}/revoke`, { id: gone.id }))).toBe(200);
      const revoke = { id: adminApi.operatorId };
      const { status, body } = await adminApi.post<Refusal>(`${credentials}/revoke`, revoke);
      expect([status, body.error.code]).toEqual(conflict);
      expect(body.error.message).toMatch(/^This is the last admin of all tenants\..*`force`/);
      expect(await statusOf(adminApi.get(credentials))).toBe(200);
    });

    test("goes when that is forced, and when there is another", async () => {
      const adminApi = await openOffice(await openFresh(kind));
      const other = await enterAs(adminApi, "admin");
      expect(await statusOf(other.send(`${credentials}/revoke`, { id: adminApi.operatorId }))).toBe(200);
      expect(await statusOf(other.send(`${credentials}/revoke`, { id: other.id, force: false }))).toEqual(conflict);
      expect(await statusOf(other.send(`${credentials}/revoke`, { id: other.id, force: true }))).toBe(200);
      expect(await statusOf(other.send(credentials))).toEqual([401, "unauthenticated"]);
    });
  });

  describe("rotating", () => {
    test("gives another token, shown once, and the one before admits no one from the next call on", async () => {
      const adminApi = await office();
      const tenant = newTenant();
      const made = await adminApi.stores.credentials.create({ namespaceId: tenant, access });
      const { status, body } = await adminApi.post<Made>(`${credentials}/rotate`, { id: made.id });
      expect([status, body]).toEqual([200, { id: made.id, token: expect.stringMatching(/^tp_/) }]);
      expect(await adminApi.stores.credentials.verify(made.token, new Date())).toBeUndefined();
      const good = { id: made.id, namespaceId: tenant, access };
      expect(await adminApi.stores.credentials.verify(body.token, new Date())).toEqual(good);
      const changes = await changesIn(adminApi, tenant);
      expect(changes).toMatchObject([
        { outcome: "allowed", action: "credential.rotate", metadata: { credential: made.id } },
        { outcome: "succeeded", action: "credential.rotate", metadata: { credential: made.id } },
      ]);
      expect(JSON.stringify(changes)).not.toContain(body.token.slice(-64));
    });

    for (const role of ["admin", "reviewer", "auditor"] as const) {
      test(`their own is for operators with the role ${role}, also of one tenant`, async () => {
        const adminApi = await office();
        const { id, token, send } = await enterAs(adminApi, role, newTenant());
        const { status, body } = await send<Made>(`${credentials}/rotate`, { id });
        expect([status, body.id]).toEqual([200, id]);
        const rotateAgain = { id };
        expect(await statusOf(sendAs(adminApi, token, `${credentials}/rotate`, rotateAgain))).toEqual([
          401,
          "unauthenticated",
        ]);
        expect(await statusOf(sendAs(adminApi, body.token, `${credentials}/rotate`, rotateAgain))).toBe(200);
      });
    }

    test("what was revoked or has expired is not revived", async () => {
      const adminApi = await office();
      const { stores } = adminApi;
      const revoked = await stores.credentials.create({ namespaceId: "acme", access });
      await stores.credentials.revoke(revoked.id, new Date().toISOString());
      const ended = { namespaceId: "acme", access, expiresAt: "2020-01-01T00:00:00Z" };
      const expired = await stores.credentials.create(ended);
      for (const { id } of [revoked, expired])
        expect(await statusOf(adminApi.post(`${credentials}/rotate`, { id }))).toEqual(conflict);
    });
  });
});

test("of the last two admins of all tenants, who revoke each other at once on two hosts, one stays", async () => {
  const [here, there] = await Promise.all((await openPair()).map((database) => openOffice(database)));
  if (here === undefined || there === undefined) throw new Error("There are two hosts.");
  for (const { operatorId } of [here, there])
    await here.stores.credentials.revoke(operatorId, new Date().toISOString());
  for (let round = 0; round < 5; round += 1) {
    const pair = await Promise.all([enterAs(here, "admin"), enterAs(there, "admin")]);
    const answers = await Promise.all(
      pair.map(({ send }, place) => statusOf(send(`${credentials}/revoke`, { id: pair[1 - place]?.id }))),
    );
    expect(answers.filter((answer) => answer === 200)).toHaveLength(1);
    // The next round has two others.
    for (const { id } of pair) await here.stores.credentials.revoke(id, new Date().toISOString());
  }
});

test("a token that was rotated through one host admits no one on the next call on another", async () => {
  const [here, there] = await Promise.all((await openPair()).map((database) => openOffice(database)));
  if (here === undefined || there === undefined) throw new Error("There are two hosts.");
  const { id, token, send } = await enterAs(here, "auditor");
  expect(await statusOf(sendAs(there, token, credentials))).toBe(200);
  const { body } = await send<Made>(`${credentials}/rotate`, { id });
  expect(await statusOf(sendAs(there, token, credentials))).toEqual([401, "unauthenticated"]);
  expect(await statusOf(sendAs(there, body.token, credentials))).toBe(200);
});
