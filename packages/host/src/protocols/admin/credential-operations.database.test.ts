import { describe, expect, test } from "vitest";
import { databaseKinds, newTenant, openFresh, openPair, sharedDatabase } from "../../../test/databases.ts";
import {
  askAct,
  askIn,
  bob,
  changesIn,
  officeTime,
  openOffice,
  readPages,
  type Office,
  type Refusal,
} from "../../../test/office.ts";
import { enterAs } from "../../../test/operators.ts";
import { access, alice, assistant } from "../../../test/records.ts";
import type { EscalationRecord } from "../../admin-contract/index.ts";

interface Made {
  id: string;
  token: string;
}

interface Page {
  credentials: { id: string; namespaceId: string; expiresAt?: string; revokedAt?: string }[];
  cursor?: string;
}

const path = "/admin/v1/credentials";
const operators = { actor: bob, owner: bob, purposes: ["operate"], admin: true };

function verify({ stores }: Office, token: string, now = new Date()) {
  return stores.credentials.verify(token, now);
}

async function makeMany({ stores }: Office, namespaceId: string, count: number): Promise<string[]> {
  const made: string[] = [];
  while (made.length < count) made.push((await stores.credentials.create({ namespaceId, access })).id);
  return made.toSorted();
}

function idsOf(pages: readonly Page[]): string[] {
  return pages.flatMap(({ credentials }) => credentials.map(({ id }) => id));
}

describe.each(databaseKinds)("credentials for operators on %s", (kind) => {
  const open = sharedDatabase(kind);
  const office = async (): Promise<Office> => openOffice(await open());

  test("one is made that is good at once, until it expires, and makes no one an operator", async () => {
    const adminApi = await office();
    const namespaceId = newTenant();
    const sent = { namespaceId, access, expiresAt: "2027-01-01T00:00:00+01:00" };
    const { status, body } = await adminApi.post<Made>(path, sent);
    expect([status, Object.keys(body).toSorted()]).toEqual([201, ["id", "token"]]);
    const good = { id: body.id, namespaceId, access };
    expect(await verify(adminApi, body.token, new Date("2026-12-31T22:59:59.999Z"))).toEqual(good);
    expect(await verify(adminApi, body.token, new Date("2026-12-31T23:00:00.000Z"))).toBeUndefined();
    const headers = { authorization: `Bearer ${body.token}` };
    expect((await adminApi.handler(new Request(`http://host${path}`, { headers })))?.status).toBe(403);
  });

  test("one that asks about others says so in the audit log, and an operator's has no need of it", async () => {
    const adminApi = await office();
    const namespaceId = newTenant();
    const asking = { ...access, evaluates: true };
    const { body } = await adminApi.post<Made>(path, { namespaceId, access: asking });
    expect(await verify(adminApi, body.token)).toMatchObject({ access: asking });
    const [created] = await changesIn(adminApi, namespaceId);
    expect(created).toMatchObject({ metadata: { evaluates: true } });
    const refused = await adminApi.post<Refusal>(path, {
      namespaceId: "operators",
      access: { ...operators, evaluates: true },
    });
    expect([refused.status, refused.body.error.message]).toEqual([
      400,
      "/access/evaluates: expected only without `admin`: true",
    ]);
  });

  test("an admin of one tenant binds a token to a certificate, and changes nothing about who is its bearer alone", async () => {
    const adminApi = await office();
    const [theirs, other] = [newTenant(), newTenant()];
    const shown = { names: [`uri:spiffe://${other}`, `dns:${other.toLowerCase()}`], validUntil: Infinity };
    const [uri, dns] = shown.names;
    const first = await enterAs(adminApi, "admin", theirs);
    const { body: made } = await adminApi.post<Made>(path, {
      namespaceId: other,
      access: { ...access, certificate: uri },
    });
    const bound = { namespaceId: theirs, access: { ...access, certificate: dns } };
    const { status, body } = await first.send<Made>(path, bound);
    const { credentials } = adminApi.stores;
    expect(status).toBe(201);
    expect((await credentials.verifyCertificate(shown, new Date()))?.credential.id).toBe(made.id);
    expect((await credentials.verify(body.token, new Date(), shown))?.id).toBe(body.id);
    expect(await credentials.verify(body.token, new Date())).toBeUndefined();
    await credentials.revoke(made.id, new Date().toISOString());
    expect(await credentials.verifyCertificate(shown, new Date())).toBeUndefined();
  });

  test("the audit log of the tenant says for whom, for which purposes and whether it is an operator's", async () => {
    const adminApi = await office();
    const namespaceId = newTenant();
    await adminApi.post(path, { namespaceId, access });
    for (const event of await changesIn(adminApi, namespaceId)) {
      expect(event).toMatchObject({
        action: "credential.create",
        receiver: assistant,
        metadata: { purposes: ["support", "billing"], isOperator: false, operator: adminApi.operatorId },
      });
    }
  });

  test("one that is limited in whom it may name is so in the audit log, in the list and when it is shown", async () => {
    const adminApi = await office();
    const namespaceId = newTenant();
    const limited = { ...access, senders: [alice, bob] };
    const { body } = await adminApi.post<Made>(path, { namespaceId, access: limited });
    expect(await verify(adminApi, body.token)).toMatchObject({ access: limited });
    const { body: page } = await adminApi.get<Page>(path, { namespaceId });
    expect(page.credentials).toMatchObject([{ access: limited }]);
    for (const { metadata } of await changesIn(adminApi, namespaceId))
      expect(metadata).toMatchObject({ senders: ["human:alice", "human:bob"] });
  });

  for (const senders of [[], ["human:alice"], [{ kind: "human" }], "everyone"]) {
    test(`none is made that may name ${JSON.stringify(senders)}`, async () => {
      const adminApi = await office();
      const answer = await adminApi.post<Refusal>(path, { namespaceId: newTenant(), access: { ...access, senders } });
      expect([answer.status, answer.body.error.code]).toEqual([400, "invalid_request"]);
      expect(answer.body.error.message).toContain("/access/senders");
    });
  }

  describe("operators live in the tenant operators, and no one else does", () => {
    const rows: { name: string; namespaceId: string; admin?: boolean; status: number }[] = [
      { name: "an operator there", namespaceId: "operators", admin: true, status: 201 },
      { name: "an operator in another tenant", namespaceId: "acme", admin: true, status: 400 },
      { name: "an operator in a tenant of nearly that name", namespaceId: "Operators", admin: true, status: 400 },
      { name: "an agent there", namespaceId: "operators", status: 400 },
      { name: "an agent there that says so", namespaceId: "operators", admin: false, status: 400 },
      { name: "an agent in another tenant", namespaceId: "acme", status: 201 },
      { name: "an agent in another tenant that says so", namespaceId: "acme", admin: false, status: 201 },
    ];
    for (const { name, namespaceId, admin, status } of rows) {
      test(`${name}: ${status}`, async () => {
        const adminApi = await office();
        const before = await adminApi.get<Page>(path, { namespaceId, limit: 500 });
        const sent = { namespaceId, access: { ...access, ...(admin !== undefined && { admin }) } };
        const answer = await adminApi.post<Made & Refusal>(path, sent);
        expect(answer.status).toBe(status);
        const after = await adminApi.get<Page>(path, { namespaceId, limit: 500 });
        const isMade = status === 201;
        expect(after.body.credentials.length - before.body.credentials.length).toBe(isMade ? 1 : 0);
        expect(answer.body.error?.message ?? "/access/admin").toContain("/access/admin");
      });
    }

    const names: { name: string; userId: string; status: number }[] = [
      { name: "in composed letters", userId: "Zo\u00EB M\u00FCller", status: 201 },
      { name: "in letters that are composed of two", userId: "Zoe\u0308", status: 400 },
      { name: "with a space before it", userId: " carol", status: 400 },
      { name: "with a space behind it", userId: "carol ", status: 400 },
      { name: "with a space behind it that does not break", userId: "carol\u00A0", status: 400 },
      { name: "with such a space within", userId: "carol\u00A0smith", status: 400 },
      { name: "with a joiner that cannot be seen", userId: "car\u200Dol", status: 400 },
      { name: "that turns the direction", userId: "\u202Elorac", status: 400 },
      { name: "with a filler", userId: "carol\u3164", status: 400 },
      { name: "with a blank pattern", userId: "carol\u2800", status: 400 },
      { name: "with a line end", userId: "carol\nbob", status: 400 },
      { name: "with a tag", userId: "carol\u{E0041}", status: 400 },
    ];
    for (const { name, userId, status } of names)
      for (const field of ["actor", "owner", "authority"])
        test(`an operator whose ${field} has a name ${name}: ${status}`, async () => {
          const adminApi = await office();
          const sent = { ...operators, [field]: { kind: "human", userId } };
          const answer = await adminApi.post<Refusal>(path, { namespaceId: "operators", access: sent });
          expect(answer.status).toBe(status);
          expect(answer.body.error?.message ?? `/access/${field}: `).toContain(`/access/${field}: `);
        });

    test("an operator that an operator made is admitted, and is named in the audit log as themselves", async () => {
      const adminApi = await office();
      const { body } = await adminApi.post<Made>(path, { namespaceId: "operators", access: operators });
      const namespaceId = newTenant();
      const init = {
        method: "POST",
        headers: { authorization: `Bearer ${body.token}` },
        body: JSON.stringify({ namespaceId, access }),
      };
      expect((await adminApi.handler(new Request(`http://host${path}`, init)))?.status).toBe(201);
      const [event] = await changesIn(adminApi, namespaceId);
      expect(event).toMatchObject({ actor: bob, owner: bob, metadata: { operator: body.id } });
    });
  });

  describe("a list", () => {
    test("shows who each belongs to and what became of it, and no secret", async () => {
      const adminApi = await office();
      const namespaceId = newTenant();
      const sent = { namespaceId, access: { actor: alice, owner: alice, purposes: ["support"] } };
      const { body: made } = await adminApi.post<Made>(path, { ...sent, expiresAt: "2027-01-01T00:00:00Z" });
      await adminApi.post(`${path}/revoke`, { id: made.id });
      const { body } = await adminApi.get<Page>(path, { namespaceId });
      expect(body).toEqual({
        credentials: [
          {
            id: made.id,
            ...sent,
            createdAt: expect.stringMatching(/^\d{4}-.*Z$/),
            expiresAt: "2027-01-01T00:00:00Z",
            revokedAt: "2026-01-01T12:00:00.000Z",
          },
        ],
      });
    });

    test("of one tenant lists no credential of another, and without a tenant all", async () => {
      const adminApi = await openOffice(await openFresh(kind));
      const [one, other] = [newTenant(), newTenant()];
      const ids = [...(await makeMany(adminApi, one, 3)), ...(await makeMany(adminApi, other, 2))];
      expect(idsOf(await readPages<Page>(adminApi, path, { namespaceId: one, limit: 2 }))).toEqual(ids.slice(0, 3));
      const all = await readPages<Page>(adminApi, path, { limit: 2 });
      expect(idsOf(all)).toEqual(idsOf(all).toSorted());
      expect(idsOf(all)).toHaveLength(7);
      expect(idsOf(all)).toEqual(expect.arrayContaining([...ids, adminApi.operatorId]));
      expect((await adminApi.get<Page>(path, { namespaceId: newTenant() })).body).toEqual({ credentials: [] });
    });

    for (const limit of [1, 2, 5, 6]) {
      test(`in pages of ${limit} neither repeats nor skips what was there when more is made between them`, async () => {
        const adminApi = await office();
        const namespaceId = newTenant();
        const ids = await makeMany(adminApi, namespaceId, 5);
        const seen = idsOf(
          await readPages<Page>(adminApi, path, { namespaceId, limit }, async (page) => {
            if (page < 4) await makeMany(adminApi, namespaceId, 1);
          }),
        );
        expect(new Set(seen).size).toBe(seen.length);
        expect(seen).toEqual(expect.arrayContaining(ids));
      });
    }

    test("has no further page when the last one is just full", async () => {
      const adminApi = await office();
      const namespaceId = newTenant();
      await makeMany(adminApi, namespaceId, 2);
      const { body } = await adminApi.get<Page>(path, { namespaceId, limit: 2 });
      expect([body.credentials.length, body.cursor]).toEqual([2, undefined]);
    });

    for (const cursor of ["0", "zzzz", "%", "\0", "' or 1=1 --"]) {
      test(`after ${JSON.stringify(cursor)} is one of the credentials that sort behind it`, async () => {
        const adminApi = await office();
        const namespaceId = newTenant();
        await makeMany(adminApi, namespaceId, 2);
        const { status, body } = await adminApi.get<Page>(path, { namespaceId, cursor });
        expect([status, Array.isArray(body.credentials)]).toEqual([200, true]);
      });
    }
  });

  describe("revoking", () => {
    test("holds from the next request on, and is in the audit log of the credential's tenant", async () => {
      const adminApi = await office();
      const namespaceId = newTenant();
      const { body: gone } = await adminApi.post<Made>(path, { namespaceId, access });
      const { body: other } = await adminApi.post<Made>(path, { namespaceId, access });
      expect(await verify(adminApi, gone.token)).toBeDefined();
      const answer = await adminApi.post(`${path}/revoke`, { id: gone.id });
      expect([answer.status, answer.body]).toEqual([200, { revoked: gone.id }]);
      expect([await verify(adminApi, gone.token), (await verify(adminApi, other.token))?.id]).toEqual([
        undefined,
        other.id,
      ]);
      expect((await changesIn(adminApi, namespaceId)).slice(-2)).toMatchObject([
        { outcome: "allowed", action: "credential.revoke", receiver: assistant, metadata: { credential: gone.id } },
        { outcome: "succeeded", action: "credential.revoke", receiver: assistant, metadata: { credential: gone.id } },
      ]);
    });

    test("a second time is a conflict and leaves the first time as it was", async () => {
      const adminApi = await office();
      const namespaceId = newTenant();
      const [id = ""] = await makeMany(adminApi, namespaceId, 1);
      await adminApi.post(`${path}/revoke`, { id });
      adminApi.time.now = "2026-01-01T13:00:00.000Z";
      const { status, body } = await adminApi.post<Refusal>(`${path}/revoke`, { id });
      expect([status, body.error.code]).toEqual([409, "conflict"]);
      const { body: page } = await adminApi.get<Page>(path, { namespaceId });
      expect(page.credentials[0]?.revokedAt).toBe("2026-01-01T12:00:00.000Z");
    });

    describe("an operator who approved things", () => {
      /** What carol approved: an act that was not done yet, and authority. */
      const approveAsCarol = async (adminApi: Office) => {
        const [act, asked] = [await askAct(adminApi.stores, newTenant()), await askIn(adminApi.stores, newTenant())];
        const post = await adminApi.postAs({ kind: "human", userId: "carol" });
        for (const { namespaceId, id, ask } of [act, asked])
          await post("/admin/v1/escalations/approve", { namespaceId, id, ask });
        const found = await adminApi.stores.escalations.find(act.namespaceId, act.id, officeTime);
        return { act, asked, id: found?.decidedBy ?? "" };
      };
      const statusOf = async (adminApi: Office, { namespaceId, id }: EscalationRecord) =>
        (await adminApi.stores.escalations.find(namespaceId, id, officeTime))?.status;

      test("leaves what they approved, and ends it if that is wanted, then or later; each is in its tenant's audit log", async () => {
        const adminApi = await office();
        const { act, asked, id } = await approveAsCarol(adminApi);
        expect((await adminApi.post(`${path}/revoke`, { id })).body).toEqual({ revoked: id });
        expect([await statusOf(adminApi, act), await statusOf(adminApi, asked)]).toEqual(["approved", "approved"]);
        expect((await adminApi.post(`${path}/revoke`, { id, andAnswers: true })).body).toEqual({
          revoked: id,
          answers: { permits: 1, grants: 1, approvals: 0 },
        });
        expect([await statusOf(adminApi, act), await statusOf(adminApi, asked)]).toEqual(["withdrawn", "withdrawn"]);
        expect((await changesIn(adminApi, act.namespaceId)).slice(-2)).toMatchObject([
          { outcome: "allowed", action: "escalation.withdraw", metadata: { escalation: act.id } },
          { outcome: "succeeded", action: "escalation.withdraw", metadata: { escalation: act.id } },
        ]);
        expect((await changesIn(adminApi, asked.namespaceId)).at(-1)).toMatchObject({
          action: "escalation.withdraw",
          grantId: `approved-${asked.id}`,
        });
      });

      test("ends both at once, and says how many of each", async () => {
        const adminApi = await office();
        const { act, id } = await approveAsCarol(adminApi);
        const { status, body } = await adminApi.post(`${path}/revoke`, { id, andAnswers: true });
        expect([status, body]).toEqual([200, { revoked: id, answers: { permits: 1, grants: 1, approvals: 0 } }]);
        expect(await statusOf(adminApi, act)).toBe("withdrawn");
        expect((await adminApi.stores.credentials.find(id))?.revokedAt).toBe(officeTime);
      });
    });

    test("an expired credential is revoked like any other", async () => {
      const adminApi = await office();
      const made = { namespaceId: newTenant(), access, expiresAt: "2020-01-01T00:00:00Z" };
      const { id } = await adminApi.stores.credentials.create(made);
      expect((await adminApi.post(`${path}/revoke`, { id })).status).toBe(200);
    });

    for (const id of ["0".repeat(16), "nothing", "nul\0", "\ud800", "tp_"]) {
      test(`${JSON.stringify(id)}, which no credential has, is not found`, async () => {
        const { status, body } = await (await office()).post<Refusal>(`${path}/revoke`, { id });
        expect([status, body.error.code]).toEqual([404, "not_found"]);
      });
    }

    test("their own credential shuts operators out with their next request", async () => {
      // The operator of this one stays.
      await office();
      const adminApi = await office();
      expect((await adminApi.post(`${path}/revoke`, { id: adminApi.operatorId })).status).toBe(200);
      expect((await adminApi.get(path)).status).toBe(401);
    });
  });

  for (const namespaceId of ["nul\0-tenant", "half-\ud800-tenant"]) {
    test(`a tenant named ${JSON.stringify(namespaceId)} is refused, or itself and never another one`, async () => {
      const adminApi = await office();
      const { status, body } = await adminApi.post<Made>(path, { namespaceId, access });
      const verified = status === 201 ? await verify(adminApi, body.token) : undefined;
      expect([`400 of ${undefined}`, `201 of ${namespaceId}`]).toContain(`${status} of ${verified?.namespaceId}`);
      const listed = await adminApi.stores.credentials.list({ namespaceId, limit: 9 });
      expect(listed.map(({ id }) => id)).toEqual(status === 201 ? [body.id] : []);
    });
  }
});

test("of two operators who revoke at once, on hosts that share a PostgreSQL, one is first", async () => {
  const adminApis = await Promise.all((await openPair()).map((database) => openOffice(database)));
  for (let round = 0; round < 10; round += 1) {
    const made = await adminApis[0]?.stores.credentials.create({ namespaceId: "tenant-1", access });
    const answers = await Promise.all(adminApis.map(({ post }) => post(`${path}/revoke`, { id: made?.id })));
    expect(answers.map(({ status }) => status).toSorted()).toEqual([200, 409]);
  }
  expect(adminApis.flatMap(({ errors }) => errors)).toEqual([]);
});
