import { sql } from "kysely";
import { describe, expect, test } from "vitest";
import type { Grant } from "turnpike/contracts";
import { databaseKinds, newTenant, openPair, sharedDatabase } from "../../../test/databases.ts";
import { bob, changesIn, officeTime, openOffice, readPages, type Office, type Refusal } from "../../../test/office.ts";
import { alice, assistant, context, grant } from "../../../test/records.ts";

const justAfter = "2026-01-01T12:00:00.001Z";

interface Page {
  grants: { grant: Grant; state: string; used?: number }[];
  cursor?: string;
}

/** Ids of what a list answers, in its order. */
async function idsIn({ get }: Office, query: Record<string, string | number>): Promise<string[]> {
  const { status, body } = await get<Page>("/admin/v1/grants", query);
  expect(status).toBe(200);
  return body.grants.map(({ grant: { id } }) => id);
}

function idsOf(pages: readonly Page[]): string[] {
  return pages.flatMap(({ grants }) => grants.map(({ grant: { id } }) => id));
}

async function issueAll({ stores }: Office, namespaceId: string, grants: readonly Grant[]): Promise<void> {
  for (const one of grants) await stores.grants.issue({ ...one, namespaceId });
}

/** A grant that may be passed on, and the chain of grants below it. */
function chainOf(...ids: readonly string[]): Grant[] {
  return ids.map((id, place) => {
    const parentId = ids[place - 1];
    const constraints = { delegationDepth: ids.length - place };
    const holders = { issuer: place === 0 ? alice : assistant, subject: assistant };
    return grant(id, { constraints, ...holders, ...(parentId !== undefined && { parentId }) });
  });
}

describe.each(databaseKinds)("grants for operators on %s", (kind) => {
  const open = sharedDatabase(kind);
  const office = async (): Promise<Office> => openOffice(await open());

  test("a grant is stored as it was sent, and counts from the next call on", async () => {
    const adminApi = await office();
    const namespaceId = newTenant();
    const asked = { action: "read", resource: { namespace: "files", path: ["notes"] } };
    const isAllowed = async () => (await adminApi.kernel.authorize(context({ namespaceId }), asked)).allowed;
    expect(await isAllowed()).toBe(false);
    const sent = grant("grant-1", { namespaceId, metadata: { ticket: "T-1" } });
    expect(await adminApi.post("/admin/v1/grants", sent)).toMatchObject({ status: 201, body: sent });
    expect(await adminApi.stores.grants.find(namespaceId, "grant-1")).toEqual(sent);
    expect(await isAllowed()).toBe(true);
    expect(await changesIn(adminApi, namespaceId)).toMatchObject([
      { outcome: "allowed", action: "grant.create", grantId: "grant-1", receiver: assistant },
      { outcome: "succeeded", action: "grant.create", grantId: "grant-1", receiver: assistant },
    ]);
  });

  test("a grant with budgets is refused, because the host counts none and would allow nothing under it", async () => {
    const adminApi = await office();
    const namespaceId = newTenant();
    const constraints = { budgets: [{ unit: "EUR", limit: "20", per: "day" as const }] };
    await issueAll(adminApi, namespaceId, [grant("parent", { constraints: { delegationDepth: 1 } })]);
    const child = { namespaceId, parentId: "parent", id: "child", subject: assistant, constraints };
    for (const [path, sent] of [
      ["/admin/v1/grants", grant("limited", { namespaceId, constraints })],
      ["/admin/v1/grants/derive", child],
    ] as const) {
      const { status, body } = await adminApi.post<Refusal>(path, sent);
      expect([status, body.error.code]).toEqual([400, "invalid_request"]);
      expect(body.error.message).toContain("/constraints/budgets: this host counts no budgets yet");
    }
    expect(await adminApi.stores.grants.list(namespaceId, { limit: 9 })).toHaveLength(1);
    await issueAll(adminApi, namespaceId, [grant("restored", { constraints })]);
    const asked = { action: "read", resource: { namespace: "files", path: ["notes"] } };
    await adminApi.post("/admin/v1/grants/revoke", { namespaceId, id: "parent" });
    const decision = await adminApi.kernel.authorize(context({ namespaceId }), asked);
    expect(decision).toMatchObject({ allowed: false, reasonCode: "budget_store_unavailable" });
  });

  test("an id that a grant of the tenant has is taken, also by a revoked one, and free elsewhere", async () => {
    const adminApi = await office();
    const [tenant, other] = [newTenant(), newTenant()];
    await issueAll(adminApi, tenant, [grant("grant-1", { revokedAt: officeTime })]);
    const second = grant("grant-1", { namespaceId: tenant, subject: bob });
    const refused = await adminApi.post<Refusal>("/admin/v1/grants", second);
    expect([refused.status, refused.body.error.code]).toEqual([409, "conflict"]);
    expect(refused.body.error.message).toContain("/id");
    expect((await adminApi.stores.grants.find(tenant, "grant-1"))?.subject).toEqual(assistant);
    expect((await adminApi.post("/admin/v1/grants", { ...second, namespaceId: other })).status).toBe(201);
  });

  test("of several that issue the same id at once one is first, and the others are told so", async () => {
    const adminApi = await office();
    const namespaceId = newTenant();
    const sent = grant("grant-1", { namespaceId });
    const answers = await Promise.all([1, 2, 3, 4].map(() => adminApi.post("/admin/v1/grants", sent)));
    expect(answers.map(({ status }) => status).toSorted()).toEqual([201, 409, 409, 409]);
    expect(adminApi.errors).toEqual([]);
  });

  describe("a list", () => {
    const grants = [
      grant("a-live"),
      grant("b-bounded", { constraints: { maxUses: 3 } }),
      grant("c-mail", {
        capabilities: [
          { resource: { namespace: "files", path: [] }, actions: ["read"], scope: "exact" },
          { resource: { namespace: "mail", path: [] }, actions: ["send"], scope: "exact" },
        ],
      }),
      grant("d-bobs", { subject: bob }),
      grant("e-by-bob", { issuer: bob }),
      grant("f-issued-now", { issuedAt: officeTime }),
      grant("g-issued-next", { issuedAt: justAfter }),
      grant("h-begins-now", { constraints: { notBefore: "2026-01-01T13:00:00+01:00" } }),
      grant("i-begins-next", { constraints: { notBefore: justAfter } }),
      grant("j-ends-now", { constraints: { expiresAt: "2026-01-01T13:00:00+01:00" } }),
      grant("k-ends-next", { constraints: { expiresAt: justAfter } }),
      grant("l-revoked-now", { revokedAt: officeTime }),
      grant("m-revoked-next", { revokedAt: justAfter }),
      grant("n-revoked-and-expired", { revokedAt: officeTime, constraints: { expiresAt: officeTime } }),
    ];
    const rows: { name: string; query: Record<string, string>; ids: string[] }[] = [
      { name: "nothing", query: {}, ids: grants.map(({ id }) => id) },
      { name: "an id", query: { id: "l-revoked-now" }, ids: ["l-revoked-now"] },
      { name: "an id that there is not", query: { id: "l-revoked" }, ids: [] },
      { name: "an id and the state it is in", query: { id: "d-bobs", state: "live" }, ids: ["d-bobs"] },
      { name: "an id and a state it is not in", query: { id: "d-bobs", state: "revoked" }, ids: [] },
      { name: "an id and a subject who does not hold it", query: { id: "a-live", subject: "human:bob" }, ids: [] },
      { name: "a subject", query: { subject: "human:bob" }, ids: ["d-bobs"] },
      { name: "a subject of another kind with the same id", query: { subject: "agent:bob" }, ids: [] },
      { name: "an issuer", query: { issuer: "human:bob" }, ids: ["e-by-bob"] },
      { name: "subject and issuer that never meet", query: { subject: "human:bob", issuer: "human:bob" }, ids: [] },
      { name: "a resource namespace", query: { resource: "mail" }, ids: ["c-mail"] },
      { name: "the beginning of a resource namespace", query: { resource: "mai" }, ids: [] },
      { name: "grants to come", query: { state: "future" }, ids: ["g-issued-next", "i-begins-next"] },
      { name: "expired grants", query: { state: "expired" }, ids: ["j-ends-now", "n-revoked-and-expired"] },
      { name: "revoked grants", query: { state: "revoked" }, ids: ["l-revoked-now"] },
      {
        name: "live grants",
        query: { state: "live" },
        ids: [
          "a-live",
          "b-bounded",
          "c-mail",
          "d-bobs",
          "e-by-bob",
          "f-issued-now",
          "h-begins-now",
          "k-ends-next",
          "m-revoked-next",
        ],
      },
      {
        name: "everything at once",
        query: { state: "live", subject: "agent:assistant", issuer: "human:alice", resource: "mail" },
        ids: ["c-mail"],
      },
    ];
    for (const { name, query, ids } of rows) {
      test(`by ${name}`, async () => {
        const adminApi = await office();
        const namespaceId = newTenant();
        await issueAll(adminApi, namespaceId, grants);
        await issueAll(adminApi, newTenant(), grants);
        expect(await idsIn(adminApi, { namespaceId, ...query })).toEqual(ids);
        const pages = await readPages<Page>(adminApi, "/admin/v1/grants", { namespaceId, ...query, limit: 2 });
        expect(idsOf(pages)).toEqual(ids);
        expect(pages.map((page) => page.grants.length).slice(0, -1)).toEqual(pages.slice(0, -1).map(() => 2));
      });
    }

    test("shows how often a bounded grant was used, and of others nothing of the kind", async () => {
      const adminApi = await office();
      const namespaceId = newTenant();
      await issueAll(adminApi, namespaceId, grants.slice(0, 3));
      await adminApi.stores.usage.consume(namespaceId, "b-bounded", 3);
      await adminApi.stores.usage.consume(namespaceId, "b-bounded", 3);
      const { body } = await adminApi.get<Page>("/admin/v1/grants", { namespaceId });
      expect(body.grants.map(({ used }) => used)).toEqual([undefined, 2, undefined]);
      expect(body).not.toHaveProperty("cursor");
    });

    test("says of a grant that was used up that it is, and no longer that it is live", async () => {
      const adminApi = await office();
      const namespaceId = newTenant();
      await issueAll(adminApi, namespaceId, [grant("a\0", { constraints: { maxUses: 1 } }), grants[1] ?? grant("b")]);
      await adminApi.stores.usage.consume(namespaceId, "a\0", 1);
      await adminApi.stores.usage.consume(namespaceId, "b-bounded", 3);
      const { body } = await adminApi.get<Page>("/admin/v1/grants", { namespaceId });
      const shown = body.grants.map(({ grant: { id }, state, used }) => [id, state, used]);
      expect(shown.toSorted()).toEqual([
        ["a\0", "exhausted", 1],
        ["b-bounded", "live", 1],
      ]);
      expect(await idsIn(adminApi, { namespaceId, state: "exhausted" })).toEqual(["a\0"]);
    });

    test("has no further page when the last one is just full", async () => {
      const adminApi = await office();
      const namespaceId = newTenant();
      await issueAll(adminApi, namespaceId, [grant("a"), grant("b"), grant("c"), grant("d", { subject: bob })]);
      const { body } = await adminApi.get<Page>("/admin/v1/grants", {
        namespaceId,
        limit: 3,
        subject: "agent:assistant",
      });
      expect([body.grants.length, body.cursor]).toEqual([3, undefined]);
    });

    test("by the grant that they were derived from has those alone, in pages", async () => {
      const adminApi = await office();
      const namespaceId = newTenant();
      const store = adminApi.stores.grants;
      await store.issue(grant("root", { namespaceId }));
      await store.issue(grant("other", { namespaceId }));
      const subject = { kind: "agent", agentId: "helper" } as const;
      for (const id of ["c1", "c2", "c3"]) await store.issue(grant(id, { namespaceId, parentId: "root", subject }));
      await store.issue(grant("grandchild", { namespaceId, parentId: "c1" }));
      await store.issue(grant("c4", { namespaceId: newTenant(), parentId: "root" }));
      const ids = async (query: Record<string, string>): Promise<string[]> => {
        const pages = await readPages<{ grants: { grant: Grant }[]; cursor?: string }>(adminApi, "/admin/v1/grants", {
          namespaceId,
          limit: 2,
          ...query,
        });
        return pages.flatMap((page) => page.grants.map((entry) => entry.grant.id));
      };
      expect(await ids({ parent: "root" })).toEqual(["c1", "c2", "c3"]);
      expect(await ids({ parent: "root", subject: "agent:helper" })).toEqual(["c1", "c2", "c3"]);
      expect(await ids({ parent: "root", subject: "agent:unknown" })).toEqual([]);
      expect(await ids({ parent: "other" })).toEqual([]);
    });

    test("of a tenant without grants is empty", async () => {
      expect(await idsIn(await office(), { namespaceId: newTenant() })).toEqual([]);
    });

    test("is fifty long unless it is told otherwise", async () => {
      const adminApi = await office();
      const namespaceId = newTenant();
      const many = Array.from({ length: 51 }, (_, place) => grant(`grant-${place}`));
      await issueAll(adminApi, namespaceId, many);
      const { body } = await adminApi.get<Page>("/admin/v1/grants", { namespaceId });
      expect([body.grants.length, typeof body.cursor]).toEqual([50, "string"]);
    });

    for (const limit of [1, 2, 3]) {
      test(`in pages of ${limit} neither repeats nor skips, whatever the ids look like`, async () => {
        const adminApi = await office();
        const namespaceId = newTenant();
        const ids = [
          "a",
          "B",
          "b",
          "A",
          "ä",
          "a b",
          "a-b",
          "a_b",
          "ab",
          "10",
          "9",
          "\u00e9",
          "e\u0301",
          "~",
          "😀",
          "sha256:0",
        ];
        await issueAll(
          adminApi,
          namespaceId,
          ids.map((id) => grant(id)),
        );
        const pages = await readPages<Page>(adminApi, "/admin/v1/grants", { namespaceId, limit });
        expect(idsOf(pages).toSorted()).toEqual(ids.toSorted());
      });
    }

    test("neither repeats nor skips where an id has characters that cannot travel in a query", async () => {
      const adminApi = await office();
      const namespaceId = newTenant();
      const ids = ["a", "m\0", "n\ud800", "t", "z"];
      await issueAll(
        adminApi,
        namespaceId,
        ids.map((id) => grant(id)),
      );
      const pages = await readPages<Page>(adminApi, "/admin/v1/grants", { namespaceId, limit: 1 });
      expect(idsOf(pages).toSorted()).toEqual(ids.toSorted());
    });

    test("neither repeats nor skips what was there when others are added between its pages", async () => {
      const adminApi = await office();
      const namespaceId = newTenant();
      const ids = ["b", "d", "f", "h", "j"];
      await issueAll(
        adminApi,
        namespaceId,
        ids.map((id) => grant(id)),
      );
      const added = ["a", "e", "i"];
      const pages = await readPages<Page>(adminApi, "/admin/v1/grants", { namespaceId, limit: 2 }, async (page) => {
        const id = added[page - 1];
        if (id !== undefined) await issueAll(adminApi, namespaceId, [grant(id)]);
      });
      const seen = idsOf(pages);
      expect(new Set(seen).size).toBe(seen.length);
      expect(seen).toEqual(expect.arrayContaining(ids));
      expect(seen).not.toContain("a");
    });

    for (const { name, query } of [
      { name: "a state", query: { state: "revoked" } },
      { name: "a resource", query: { resource: "mail" } },
      { name: "both principals", query: { subject: "agent:assistant", issuer: "human:bob" } },
    ]) {
      test(`by ${name} continues behind each thousand grants that it read, and misses none`, async () => {
        const { db } = await open();
        const adminApi = await office();
        const namespaceId = newTenant();
        const wanted = grant("z", {
          issuer: bob,
          revokedAt: officeTime,
          capabilities: [{ resource: { namespace: "mail", path: [] }, actions: ["read"], scope: "descendants" }],
        });
        await issueAll(adminApi, namespaceId, [{ ...wanted, id: "a" }]);
        const content = JSON.stringify(grant("filled", { namespaceId }));
        await sql`insert into grants (namespace_id, id, subject, issuer, content)
          select ${namespaceId}, 'filled-' || i, 'agent:assistant', 'human:alice',
            replace(cast(${content} as text), '"filled"', '"filled-' || i || '"')
          from (with recursive n(i) as (select 10001 union all select i + 1 from n where i < 12050)
            select i from n) as n`.execute(db);
        await issueAll(adminApi, namespaceId, [wanted]);
        const pages = await readPages<Page>(adminApi, "/admin/v1/grants", { namespaceId, ...query });
        expect(pages.map(({ grants: found }) => found.map(({ grant: { id } }) => id))).toEqual([["a"], [], ["z"]]);
      });
    }

    test("continues after a grant that was revoked between two pages", async () => {
      const adminApi = await office();
      const namespaceId = newTenant();
      await issueAll(adminApi, namespaceId, [grant("a"), grant("b"), grant("c"), grant("d")]);
      const query = { namespaceId, limit: 2, state: "live" };
      const pages = await readPages<Page>(adminApi, "/admin/v1/grants", query, async () => {
        await adminApi.stores.grants.revoke(namespaceId, "b", officeTime);
      });
      expect(idsOf(pages)).toEqual(["a", "b", "c", "d"]);
    });
  });

  describe("deriving", () => {
    const parent = grant("parent", {
      subject: alice,
      issuer: bob,
      constraints: {
        delegationDepth: 2,
        purposes: ["support", "billing"],
        expiresAt: "2026-02-01T00:00:00Z",
        notBefore: "2026-01-01T00:00:00Z",
      },
    });

    test("makes a grant of the holder's, with the constraints that it does not restate", async () => {
      const adminApi = await office();
      const namespaceId = newTenant();
      await issueAll(adminApi, namespaceId, [parent]);
      const sent = { namespaceId, parentId: "parent", id: "child", subject: assistant };
      const derived = { ...parent, ...sent, issuer: alice, issuedAt: officeTime };
      const body = { ...derived, constraints: { ...parent.constraints, delegationDepth: 1 } };
      expect(await adminApi.post("/admin/v1/grants/derive", sent)).toMatchObject({ status: 201, body });
      expect(await adminApi.stores.grants.find(namespaceId, "child")).toEqual(body);
      const asked = { action: "read", resource: { namespace: "files", path: ["notes", "today"] } };
      const decision = await adminApi.kernel.authorize(context({ namespaceId }), asked);
      expect(decision).toMatchObject({ allowed: true, matchedGrantId: "child" });
      expect((await changesIn(adminApi, namespaceId)).at(-1)).toMatchObject({
        action: "grant.derive",
        grantId: "child",
        receiver: assistant,
        metadata: { parentId: "parent" },
      });
    });

    test("makes a narrower grant than its parent", async () => {
      const adminApi = await office();
      const namespaceId = newTenant();
      await issueAll(adminApi, namespaceId, [parent]);
      const capabilities = [
        { resource: { namespace: "files", path: ["notes", "today"] }, actions: ["read"], scope: "exact" },
      ];
      const constraints = { purposes: ["support"], expiresAt: "2026-01-02T00:00:00Z", maxUses: 1, delegationDepth: 0 };
      const sent = { namespaceId, parentId: "parent", id: "child", subject: assistant, capabilities, constraints };
      const { status, body } = await adminApi.post<Grant>("/admin/v1/grants/derive", sent);
      expect([status, body.capabilities, body.constraints]).toEqual([
        201,
        capabilities,
        { ...parent.constraints, ...constraints },
      ]);
    });

    const elsewhere = { resource: { namespace: "mail", path: [] }, actions: ["read"], scope: "exact" };
    const rows: { rule: string; name: string; parent?: Partial<Grant>; ask?: object }[] = [
      { rule: "delegation_not_allowed", name: "a parent that may not be passed on", parent: { constraints: {} } },
      {
        rule: "delegation_too_deep",
        name: "a child that could be passed on as far as its parent",
        ask: { constraints: { delegationDepth: 2 } },
      },
      { rule: "capability_exceeds_parent", name: "another place", ask: { capabilities: [elsewhere] } },
      {
        rule: "capability_exceeds_parent",
        name: "one place that the parent has and one that it has not",
        ask: { capabilities: [...parent.capabilities, elsewhere] },
      },
      {
        rule: "purposes_exceed_parent",
        name: "another purpose",
        ask: { constraints: { purposes: ["support", "spying"] } },
      },
      {
        rule: "window_exceeds_parent",
        name: "a later end",
        ask: { constraints: { expiresAt: "2026-02-01T00:00:00.001Z" } },
      },
      {
        rule: "window_exceeds_parent",
        name: "an earlier beginning",
        ask: { constraints: { notBefore: "2025-12-31T00:00:00Z" } },
      },
      {
        rule: "parent_bounded",
        name: "a parent whose uses are counted",
        parent: { constraints: { ...parent.constraints, maxUses: 9 } },
      },
      { rule: "parent_inactive", name: "a revoked parent", parent: { revokedAt: officeTime } },
      {
        rule: "empty_window",
        name: "an expired parent, whose end is the child's,",
        parent: { constraints: { delegationDepth: 2, expiresAt: officeTime } },
      },
      { rule: "parent_inactive", name: "a parent that is not issued yet", parent: { issuedAt: justAfter } },
      {
        rule: "parent_inactive",
        name: "a parent that has not begun",
        parent: { constraints: { delegationDepth: 2, notBefore: justAfter } },
      },
      {
        rule: "empty_window",
        name: "a child that has ended already",
        ask: { constraints: { expiresAt: officeTime } },
      },
      { rule: "invalid_ask", name: "a child with its parent's id", ask: { id: "parent" } },
    ];
    for (const { rule, name, parent: changes, ask } of rows) {
      test(`${name} is refused: ${rule}`, async () => {
        const adminApi = await office();
        const namespaceId = newTenant();
        await issueAll(adminApi, namespaceId, [{ ...parent, ...changes }]);
        const sent = { namespaceId, parentId: "parent", id: "child", subject: assistant, ...ask };
        const { status, body } = await adminApi.post<Refusal>("/admin/v1/grants/derive", sent);
        expect([status, body.error.code]).toEqual([400, "invalid_request"]);
        expect(body.error.message).toContain(rule);
        expect(await adminApi.stores.grants.list(namespaceId, { limit: 9 })).toHaveLength(1);
        expect(await changesIn(adminApi, namespaceId)).not.toContainEqual(
          expect.objectContaining({ outcome: "succeeded" }),
        );
      });
    }

    test("the sixteenth parent is the last that a grant may depend on", async () => {
      const adminApi = await office();
      const namespaceId = newTenant();
      const ids = Array.from({ length: 17 }, (_, place) => `link-${place}`);
      await issueAll(adminApi, namespaceId, chainOf(...ids));
      const derive = (parentId: string, id: string) =>
        adminApi.post<Refusal>("/admin/v1/grants/derive", { namespaceId, parentId, id, subject: assistant });
      expect((await derive("link-15", "last")).status).toBe(201);
      const { status, body } = await derive("link-16", "one-too-many");
      expect(status).toBe(400);
      expect(body.error.message).toContain("chain_too_long");
    });

    test("from a parent whose parents go round in a circle is refused, and ends", async () => {
      const adminApi = await office();
      const namespaceId = newTenant();
      const constraints = { delegationDepth: 5 };
      await issueAll(adminApi, namespaceId, [
        grant("one", { parentId: "two", issuer: assistant, constraints }),
        grant("two", { parentId: "one", issuer: assistant, constraints }),
      ]);
      const sent = { namespaceId, parentId: "one", id: "child", subject: bob };
      const { status, body } = await adminApi.post<Refusal>("/admin/v1/grants/derive", sent);
      expect(status).toBe(400);
      expect(body.error.message).toContain("delegation_too_deep");
    });

    const broken: { name: string; grants: Grant[] }[] = [
      {
        name: "was revoked",
        grants: chainOf("root", "parent").map((one) => (one.id === "root" ? { ...one, revokedAt: officeTime } : one)),
      },
      { name: "does not exist", grants: chainOf("root", "parent").slice(1) },
    ];
    for (const { name, grants } of broken) {
      test(`from a parent whose own parent ${name} is refused: such a child would never count`, async () => {
        const adminApi = await office();
        const namespaceId = newTenant();
        await issueAll(adminApi, namespaceId, grants);
        const sent = { namespaceId, parentId: "parent", id: "child", subject: bob };
        expect((await adminApi.post("/admin/v1/grants/derive", sent)).status).toBe(400);
        expect(await adminApi.stores.grants.find(namespaceId, "child")).toBeUndefined();
      });
    }

    test("from what is not there, or only in another tenant, is not found", async () => {
      const adminApi = await office();
      const [tenant, other] = [newTenant(), newTenant()];
      await issueAll(adminApi, other, [parent]);
      for (const parentId of ["parent", "nothing", "nul\0"]) {
        const sent = { namespaceId: tenant, parentId, id: "child", subject: assistant };
        const { status, body } = await adminApi.post<Refusal>("/admin/v1/grants/derive", sent);
        expect([status, body.error.code]).toEqual([404, "not_found"]);
      }
    });

    test("under an id that is taken is a conflict, also when two do it at once", async () => {
      const adminApi = await office();
      const namespaceId = newTenant();
      await issueAll(adminApi, namespaceId, [parent]);
      const sent = { namespaceId, parentId: "parent", id: "child", subject: assistant };
      const answers = await Promise.all([1, 2].map(() => adminApi.post("/admin/v1/grants/derive", sent)));
      expect(answers.map(({ status }) => status).toSorted()).toEqual([201, 409]);
      expect((await adminApi.post("/admin/v1/grants/derive", sent)).status).toBe(409);
    });
  });

  describe("revoking", () => {
    test("names every grant that falls with it, through all links, nearest first", async () => {
      const adminApi = await office();
      const namespaceId = newTenant();
      const line = chainOf("root", "child", "grandchild", "great-grandchild");
      const beside = [
        grant("sibling"),
        grant("a-child", { parentId: "root" }),
        grant("of-sibling", { parentId: "sibling" }),
      ];
      await issueAll(adminApi, namespaceId, [...line, ...beside]);
      await issueAll(adminApi, newTenant(), [grant("stranger", { parentId: "root" })]);
      const sent = { namespaceId, id: "root" };
      const { status, body } = await adminApi.post<{ revoked: string; descendants: Grant[] }>(
        "/admin/v1/grants/revoke",
        sent,
      );
      expect([status, body.revoked]).toEqual([200, "root"]);
      const ids = body.descendants.map(({ id }) => id);
      expect(ids).toEqual(["a-child", "child", "grandchild", "great-grandchild"]);
      expect(body.descendants.at(-1)).toEqual({ ...line.at(-1), namespaceId });
      expect(body).not.toHaveProperty("hasMore");
    });

    test("names the nearest 500 of those that were derived from it, and says that there are more", async () => {
      const adminApi = await office();
      const namespaceId = newTenant();
      await issueAll(adminApi, namespaceId, [grant("root")]);
      const { db } = await open();
      const content = JSON.stringify(grant("filled", { namespaceId, parentId: "root" }));
      await sql`insert into grants (namespace_id, id, subject, issuer, parent_id, content)
        select ${namespaceId}, 'filled-' || i, 'agent:assistant', 'human:alice', 'root',
          replace(cast(${content} as text), '"filled"', '"filled-' || i || '"')
        from (with recursive n(i) as (select 1001 union all select i + 1 from n where i < 1501)
          select i from n) as n`.execute(db);
      const sent = { namespaceId, id: "root" };
      const { body } = await adminApi.post<{ descendants: Grant[]; hasMore?: boolean }>(
        "/admin/v1/grants/revoke",
        sent,
      );
      expect([body.descendants.length, body.descendants.at(-1)?.id, body.hasMore]).toEqual([500, "filled-1500", true]);
    });

    test("of one link leaves those above it alone", async () => {
      const adminApi = await office();
      const namespaceId = newTenant();
      await issueAll(adminApi, namespaceId, chainOf("root", "child", "grandchild"));
      const sent = { namespaceId, id: "child" };
      expect(await adminApi.post("/admin/v1/grants/revoke", sent)).toMatchObject({
        status: 200,
        body: { revoked: "child", descendants: [{ id: "grandchild" }] },
      });
      expect(await idsIn(adminApi, { namespaceId, state: "revoked" })).toEqual(["child"]);
    });

    test("holds from the next call on, for what was derived too", async () => {
      const adminApi = await office();
      const namespaceId = newTenant();
      await issueAll(adminApi, namespaceId, [
        grant("root", { subject: alice, issuer: bob, constraints: { delegationDepth: 1 } }),
        grant("child", { parentId: "root" }),
      ]);
      const asked = { action: "read", resource: { namespace: "files", path: ["notes"] } };
      const authorize = () => adminApi.kernel.authorize(context({ namespaceId }), asked);
      expect((await authorize()).allowed).toBe(true);
      await adminApi.post("/admin/v1/grants/revoke", { namespaceId, id: "root" });
      expect(await authorize()).toEqual({ allowed: false, reasonCode: "delegation_chain_invalid" });
    });

    test("a second time is a conflict that says when the first one was", async () => {
      const adminApi = await office();
      const namespaceId = newTenant();
      await issueAll(adminApi, namespaceId, [grant("grant-1")]);
      const sent = { namespaceId, id: "grant-1" };
      await adminApi.post("/admin/v1/grants/revoke", sent);
      adminApi.time.now = "2026-01-01T13:00:00.000Z";
      const { status, body } = await adminApi.post<Refusal>("/admin/v1/grants/revoke", sent);
      expect([status, body.error.code]).toEqual([409, "conflict"]);
      expect(body.error.message).toContain("2026-01-01T12:00:00.000Z");
      expect((await adminApi.stores.grants.findStored(namespaceId, "grant-1"))?.revokedAt).toBe(officeTime);
      expect((await changesIn(adminApi, namespaceId)).map(({ outcome, reason }) => [outcome, reason])).toEqual([
        ["allowed", undefined],
        ["succeeded", undefined],
        ["allowed", undefined],
        ["failed", "conflict"],
      ]);
    });

    test("is shown as revoked, with its time, when the clock was set back since", async () => {
      const adminApi = await office();
      const namespaceId = newTenant();
      await issueAll(adminApi, namespaceId, [grant("grant-1")]);
      await adminApi.post("/admin/v1/grants/revoke", { namespaceId, id: "grant-1" });
      adminApi.time.now = "2026-01-01T11:00:00.000Z";
      expect(await idsIn(adminApi, { namespaceId, state: "revoked" })).toEqual(["grant-1"]);
      expect((await adminApi.stores.grants.list(namespaceId, { limit: 1 }))[0]?.revokedAt).toBe(officeTime);
    });

    test("of a grant that would be revoked later anyway holds at once", async () => {
      const adminApi = await office();
      const namespaceId = newTenant();
      await issueAll(adminApi, namespaceId, [grant("grant-1", { revokedAt: "2026-06-01T00:00:00Z" })]);
      expect(await idsIn(adminApi, { namespaceId, state: "live" })).toEqual(["grant-1"]);
      expect((await adminApi.post("/admin/v1/grants/revoke", { namespaceId, id: "grant-1" })).status).toBe(200);
      expect(await idsIn(adminApi, { namespaceId, state: "live" })).toEqual([]);
    });

    test("what is not there, or only in another tenant, is not found", async () => {
      const adminApi = await office();
      const [tenant, other] = [newTenant(), newTenant()];
      await issueAll(adminApi, other, [grant("grant-1")]);
      for (const id of ["grant-1", "nothing", "nul\0"]) {
        const { status, body } = await adminApi.post<Refusal>("/admin/v1/grants/revoke", { namespaceId: tenant, id });
        expect([status, body.error.code]).toEqual([404, "not_found"]);
      }
      expect((await adminApi.stores.grants.find(other, "grant-1"))?.revokedAt).toBeUndefined();
    });

    test("grants that are derived from each other in a circle ends, and names each of the others once", async () => {
      const adminApi = await office();
      const namespaceId = newTenant();
      await issueAll(adminApi, namespaceId, [grant("one", { parentId: "two" }), grant("two", { parentId: "one" })]);
      expect(await adminApi.post("/admin/v1/grants/revoke", { namespaceId, id: "one" })).toMatchObject({
        status: 200,
        body: { revoked: "one", descendants: [{ id: "two" }] },
      });
    });
  });
});

describe("two operators at once, on hosts that share a PostgreSQL", () => {
  const statuses = async (answers: Promise<{ status: number }>[]): Promise<number[]> =>
    (await Promise.all(answers)).map(({ status }) => status).toSorted();

  test("issue an id once, derive it once and revoke it once; the other one is told", async () => {
    const adminApis = await Promise.all((await openPair()).map((database) => openOffice(database)));
    const parent = grant("parent", { constraints: { delegationDepth: 1 } });
    await adminApis[0]?.stores.grants.issue(parent);
    for (let round = 0; round < 10; round += 1) {
      const id = `grant-${round}`;
      expect(await statuses(adminApis.map(({ post }) => post("/admin/v1/grants", grant(id))))).toEqual([201, 409]);
      const ref = { namespaceId: "tenant-1", id };
      expect(await statuses(adminApis.map(({ post }) => post("/admin/v1/grants/revoke", ref)))).toEqual([200, 409]);
      const derived = { namespaceId: "tenant-1", parentId: "parent", id: `child-${round}`, subject: bob };
      expect(await statuses(adminApis.map(({ post }) => post("/admin/v1/grants/derive", derived)))).toEqual([201, 409]);
    }
    expect(adminApis.flatMap(({ errors }) => errors)).toEqual([]);
  });

  test("what one revokes the other sees as revoked with the next page", async () => {
    const [here, there] = await Promise.all((await openPair()).map((database) => openOffice(database)));
    await here?.stores.grants.issue(grant("grant-1"));
    const query = { namespaceId: "tenant-1", state: "revoked" };
    expect((await there?.get<Page>("/admin/v1/grants", query))?.body.grants).toEqual([]);
    await here?.post("/admin/v1/grants/revoke", { namespaceId: "tenant-1", id: "grant-1" });
    expect((await there?.get<Page>("/admin/v1/grants", query))?.body.grants).toHaveLength(1);
  });
});
