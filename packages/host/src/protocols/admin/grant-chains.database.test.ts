import { describe, expect, test } from "vitest";
import { GrantSchema, type Capability, type Grant } from "turnpike/contracts";
import { createServiceApi } from "turnpike/http";
import { createKernel } from "turnpike/kernel";
import { databaseKinds, newTenant, sharedDatabase } from "../../../test/databases.ts";
import { bob, changesIn, openOffice, type Office, type Refusal } from "../../../test/office.ts";
import { recordStatements } from "../../../test/watched-database.ts";
import { alice, assistant, context, grant, neverAborted } from "../../../test/records.ts";
import { createWorld } from "../../../../turnpike/test/differential/worlds.ts";
import { listResources } from "../mcp/resources.ts";

interface Page {
  grants: { grant: Grant; state: string; rule?: string }[];
}

interface Explained {
  decision: { allowed: boolean; reasonCode: string };
  grants: { grant: Grant; rule?: string }[];
}

const act = { action: "read", resource: { namespace: "files", path: ["notes", "today"] } };
const today: Capability = { resource: act.resource, actions: ["read"], scope: "exact" };

/** What Bob granted to Alice, and what she makes of it for the assistant. */
const parent = grant("parent", { subject: alice, issuer: bob, constraints: { delegationDepth: 2 } });
const leaf = grant("leaf", { parentId: "parent", capabilities: [today] });

/** So many grants, each derived from the one before, the last of which is the leaf's parent. */
function line(length: number): Grant[] {
  return Array.from({ length }, (_, place) => ({
    ...parent,
    id: place === length - 1 ? "parent" : `above-${length - place}`,
    issuer: place === 0 ? bob : alice,
    constraints: { delegationDepth: length - place + 1 },
    ...(place > 0 && { parentId: `above-${length - place + 1}` }),
  }));
}

interface Row {
  name: string;
  above?: Grant[];
  leaf?: Grant;
  /** The rule that the chain breaks; absent when it holds. */
  rule?: string;
  /** What deriving is refused for where that differs; `none` where deriving cannot ask for this at all. */
  derive?: string;
}

const terms = (ofParent: Grant["constraints"], ofLeaf: Grant["constraints"] = {}): Pick<Row, "above" | "leaf"> => ({
  above: [{ ...parent, constraints: { delegationDepth: 2, ...ofParent } }],
  leaf: { ...leaf, constraints: ofLeaf },
});

const rows: Row[] = [
  { name: "that holds", above: [parent] },
  { name: "of sixteen links", above: line(16) },
  { name: "without its parent", above: [], rule: "parent_missing", derive: "There is no grant" },
  { name: "without the parent of its parent", above: line(2).slice(1), rule: "parent_missing" },
  {
    name: "whose parent was revoked",
    above: [{ ...parent, revokedAt: "2026-01-01T11:00:00Z" }],
    rule: "parent_inactive",
  },
  {
    name: "whose root was revoked",
    above: line(3).map((one, place) => (place === 0 ? { ...one, revokedAt: "2026-01-01T11:00:00Z" } : one)),
    rule: "parent_inactive",
  },
  {
    name: "whose parent has expired",
    ...terms({ expiresAt: "2026-01-01T11:00:00Z" }),
    leaf: { ...leaf, issuedAt: "2026-01-01T11:30:00Z" },
    rule: "parent_inactive",
    derive: "empty_window",
  },
  {
    name: "whose parent is issued later",
    above: [{ ...parent, issuedAt: "2026-01-01T12:00:00.001Z" }],
    rule: "parent_inactive",
  },
  {
    name: "whose parent another actor holds",
    above: [{ ...parent, subject: bob }],
    rule: "parent_not_held",
    derive: "none",
  },
  { name: "whose parent has counted uses", ...terms({ maxUses: 5 }), rule: "parent_bounded" },
  { name: "whose parent may not be passed on", ...terms({ delegationDepth: 0 }), rule: "delegation_not_allowed" },
  {
    name: "that may be passed on as far as its parent",
    ...terms({}, { delegationDepth: 2 }),
    rule: "delegation_too_deep",
  },
  { name: "of seventeen links", above: line(17), rule: "chain_too_long" },
  {
    name: "that reaches further than its parent",
    above: [parent],
    leaf: { ...leaf, capabilities: [today, { ...today, actions: ["write"] }] },
    rule: "capability_exceeds_parent",
  },
  {
    name: "for more purposes than its parent",
    ...terms({ purposes: ["support"] }, { purposes: ["support", "billing"] }),
    rule: "purposes_exceed_parent",
  },
  {
    name: "that ends later than its parent",
    ...terms({ expiresAt: "2026-02-01T00:00:00Z" }, { expiresAt: "2026-02-01T00:00:00.001Z" }),
    rule: "window_exceeds_parent",
  },
];

/** The chain of a row in a tenant of its own, with or without its leaf. */
async function placed(adminApi: Office, row: Row, withLeaf: boolean): Promise<{ namespaceId: string; leaf: Grant }> {
  const namespaceId = newTenant();
  const own = { ...leaf, ...row.leaf, namespaceId };
  for (const one of [...(row.above ?? []), ...(withLeaf ? [own] : [])])
    await adminApi.stores.grants.issue({ ...one, namespaceId });
  return { namespaceId, leaf: own };
}

async function entryOf(
  adminApi: Office,
  namespaceId: string,
  id = "leaf",
): Promise<Page["grants"][number] | undefined> {
  const { body } = await adminApi.get<Page>("/admin/v1/grants", { namespaceId });
  return body.grants.find((entry) => entry.grant.id === id);
}

describe.each(databaseKinds)("one walk of the chain on %s", (kind) => {
  const open = sharedDatabase(kind);
  const office = async (): Promise<Office> => openOffice(await open());

  for (const row of rows) {
    const { name, rule, derive = rule } = row;
    describe(`a chain ${name}${rule === undefined ? "" : ` breaks ${rule}`}`, () => {
      test(`is listed as ${rule === undefined ? "live" : "invalid"}, as the kernel decides`, async () => {
        const adminApi = await office();
        const { namespaceId } = await placed(adminApi, row, true);
        const { state, rule: named } = (await entryOf(adminApi, namespaceId)) ?? {};
        expect([state, named]).toEqual(rule === undefined ? ["live", undefined] : ["invalid", rule]);
        const { allowed } = await adminApi.kernel.authorize(context({ namespaceId }), act);
        expect(allowed).toBe(rule === undefined);
        for (const one of ["live", "invalid"]) {
          const { body } = await adminApi.get<Page>("/admin/v1/grants", { namespaceId, state: one });
          expect(body.grants.some((entry) => entry.grant.id === "leaf")).toBe(one === state);
        }
      });

      test(`is ${rule === undefined ? "accepted" : "refused"} when it is issued`, async () => {
        const adminApi = await office();
        const { namespaceId, leaf: own } = await placed(adminApi, row, false);
        const { status, body } = await adminApi.post<Partial<Refusal>>("/admin/v1/grants", own);
        expect(status).toBe(rule === undefined ? 201 : 400);
        expect(await adminApi.stores.grants.find(namespaceId, "leaf")).toEqual(rule === undefined ? own : undefined);
        const [said] = body.error?.message.split(". ") ?? [];
        expect(said).toBe(rule === undefined ? undefined : `/parentId: this grant would never count: ${rule}`);
        expect(await changesIn(adminApi, namespaceId)).toHaveLength(rule === undefined ? 2 : 0);
      });

      test(`is ${rule === undefined ? "accepted" : "refused"} when it is derived`, async () => {
        const adminApi = await office();
        const { namespaceId, leaf: own } = await placed(adminApi, row, false);
        const { id, subject, capabilities, constraints, parentId } = own;
        const sent = { namespaceId, parentId, id, subject, capabilities, constraints };
        const { body } = await adminApi.post<Partial<Refusal>>("/admin/v1/grants/derive", sent);
        const isMade = derive === undefined || derive === "none";
        const refusal: unknown = expect.stringContaining(derive ?? "");
        expect(body.error?.message).toEqual(isMade ? undefined : refusal);
        expect((await adminApi.stores.grants.find(namespaceId, "leaf")) !== undefined).toBe(isMade);
      });

      test("is explained by its rule, and opens no file", async () => {
        const adminApi = await office();
        const { namespaceId } = await placed(adminApi, row, true);
        const asked = { namespaceId, actor: assistant, owner: alice, authority: alice, purpose: "support", ...act };
        const { body } = await adminApi.post<Explained>("/admin/v1/explanations", asked);
        expect(body.decision.reasonCode).toBe(rule === undefined ? "allowed" : "delegation_chain_invalid");
        expect(body.grants.find((one) => one.grant.id === "leaf")?.rule).toBe(rule);
        const turns = { execute: () => Promise.reject(new Error("There are no turns here.")) };
        const api = createServiceApi({ kernel: adminApi.kernel, turns });
        const offers = () => Promise.resolve([]);
        const access = { api, context: context({ namespaceId }), options: { signal: neverAborted }, offers };
        const { resources } = await listResources(access, undefined);
        const shown = rule === undefined ? ["turnpike://files/notes/today"] : [];
        expect(resources.map(({ uri }) => uri)).toEqual(shown);
      });
    });
  }

  describe("a grant that is issued at another time", () => {
    const at = (hour: number): string => `2026-01-01T${hour}:00:00Z`;
    for (const { name, above, issuedAt, message } of [
      { name: "before its parent was revoked is refused", above: { revokedAt: at(11) }, issuedAt: at(10) },
      { name: "before its parent was issued is refused", above: { issuedAt: at(11) }, issuedAt: at(10) },
      { name: "after its parent will be revoked is refused", above: { revokedAt: at(13) }, issuedAt: at(14) },
      {
        name: "after its parent will be issued is accepted",
        above: { issuedAt: at(13) },
        issuedAt: at(14),
        message: undefined,
      },
    ].map((row) => ({ message: expect.stringContaining("parent_inactive") as unknown, ...row }))) {
      test(name, async () => {
        const adminApi = await office();
        const { leaf: own } = await placed(adminApi, { name, above: [{ ...parent, ...above }] }, false);
        const { body } = await adminApi.post<Partial<Refusal>>("/admin/v1/grants", { ...own, issuedAt });
        expect(body.error?.message).toEqual(message);
      });
    }
  });

  test("a grant that names itself as its parent is refused: there is no such parent yet", async () => {
    const adminApi = await office();
    const own = { ...leaf, namespaceId: newTenant(), parentId: "leaf", constraints: { delegationDepth: 1 } };
    const { status, body } = await adminApi.post<Refusal>("/admin/v1/grants", own);
    expect([status, body.error.message.includes("parent_missing")]).toEqual([400, true]);
  });

  test("a chain whose parent cannot be read is unknown, and nothing is issued on it", async () => {
    const database = await open();
    const adminApi = await openOffice(database);
    const { namespaceId, leaf: own } = await placed(adminApi, { name: "", above: [parent] }, true);
    await database.db
      .updateTable("grants")
      .set({ content: JSON.stringify({ ...parent, namespaceId, capabilities: [] }) })
      .where("namespace_id", "=", namespaceId)
      .where("id", "=", "parent")
      .execute();
    expect((await entryOf(adminApi, namespaceId))?.state).toBe("unknown");
    expect((await entryOf(adminApi, namespaceId, "parent"))?.state).toBe("unknown");
    const { status, body } = await adminApi.post<Refusal>("/admin/v1/grants", { ...own, id: "another" });
    expect([status, body.error.message]).toEqual([409, "/parentId: one of the grants above this one cannot be read."]);
  });

  test("whatever grants there are, those are live that the kernel allows to be used", async () => {
    const adminApi = await office();
    adminApi.time.now = "2026-02-01T09:00:00Z";
    const seen = new Set<string>();
    for (let seed = 1; seed <= 60; seed += 1) {
      const { world } = createWorld(seed, { source: "frozen", find: "works", usage: "counts", policy: "absent" });
      const namespaceId = newTenant();
      const grants = world.grants
        .filter((one) => one.namespaceId === "demo" && GrantSchema.safeParse(one).success)
        .map((one) => ({ ...one, namespaceId }));
      for (const one of grants) await adminApi.stores.grants.issue(one);
      const { body } = await adminApi.get<Page>("/admin/v1/grants", { namespaceId, limit: 500 });
      for (const { grant: one, state } of body.grants) {
        seen.add(state);
        const alone = { ...adminApi.stores.grants, load: () => Promise.resolve([one]) };
        const kernel = createKernel({ grants: alone, usage: adminApi.stores.usage, audit: "none" });
        const [{ resource, actions: [action = "read"] } = today] = one.capabilities;
        const who = { actor: one.subject, authority: one.issuer, owner: resource.owner ?? alice };
        const purpose = one.constraints.purposes?.[0] ?? "support";
        const asked = context({ namespaceId, ...who, purpose, now: adminApi.time.now });
        const { decision } = await kernel.explain(asked, { resource, action: action === "*" ? "read" : action });
        // One that needs an approval is live: it carries the act once it is approved.
        const isUsable = decision.allowed || decision.reasonCode === "approval_required";
        expect([one, state === "live"]).toEqual([one, isUsable]);
      }
    }
    expect([...seen]).toEqual(expect.arrayContaining(["future", "invalid", "live", "revoked"]));
  });

  test("a page of long chains is read link by link, and not grant by grant", async () => {
    const { database, statements } = recordStatements(await open());
    const adminApi = await openOffice(database);
    const namespaceId = newTenant();
    const chains = Array.from({ length: 29 }, (_, chain) =>
      [...line(16), { ...leaf, constraints: { maxUses: 3 } }].map((one) => ({
        ...one,
        namespaceId,
        id: `${one.id}-${chain}`,
        ...(one.parentId !== undefined && { parentId: `${one.parentId}-${chain}` }),
      })),
    );
    await database.db
      .insertInto("grants")
      .values(
        chains.flat().map((one) => ({
          namespace_id: namespaceId,
          id: one.id,
          subject: `holder-${one.id.startsWith("leaf")}`,
          issuer: "human:alice",
          content: JSON.stringify(one),
        })),
      )
      .execute();
    for (const { query, shown } of [
      { query: { limit: 500 }, shown: 17 * 29 },
      { query: { limit: 10, state: "live" }, shown: 10 },
      { query: { limit: 10, state: "exhausted" }, shown: 0 },
    ]) {
      statements.length = 0;
      const { body } = await adminApi.get<Page>("/admin/v1/grants", { namespaceId, ...query });
      expect(body.grants.map(({ state }) => state)).toEqual(Array<string>(shown).fill("live"));
      expect(statements.length).toBeLessThan(25);
    }
  });
});
