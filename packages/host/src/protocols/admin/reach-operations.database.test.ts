import { describe, expect, test } from "vitest";
import type { Capability, Grant, PrincipalRef } from "turnpike/contracts";
import { databaseKinds, newTenant, sharedDatabase } from "../../../test/databases.ts";
import { bob, officeTime, openOffice, readPages, type Office, type Refusal } from "../../../test/office.ts";
import { access, alice, assistant, grant } from "../../../test/records.ts";
import type { AdminOutput } from "../../admin-contract/index.ts";
import type { Database } from "../../storage/index.ts";

type Principals = AdminOutput<"listPrincipals">;
type Reach = AdminOutput<"readReach">;
type Reachers = AdminOutput<"listReachers">;

const [principalsPath, reachPath, reachersPath] = [
  "/admin/v1/principals",
  "/admin/v1/reach",
  "/admin/v1/reach/resource",
];
const later = "2026-01-01T12:00:00.001Z";
const helper: PrincipalRef = { kind: "agent", agentId: "helper" };
const notes = { namespace: "files", path: ["notes"], actions: ["read"], scope: "descendants" };

function capability(changes: Partial<Capability> = {}, owner?: PrincipalRef): Capability {
  const resource = { namespace: "files", path: ["notes"], ...(owner && { owner }) };
  return { resource, actions: ["read"], scope: "descendants", ...changes };
}

/** What does not count at the office's time, one by one. */
const outdated: { name: string; held: Grant[]; isSpent?: boolean; isRevoked?: boolean }[] = [
  { name: "expired", held: [grant("g", { constraints: { expiresAt: officeTime } })] },
  { name: "was revoked", held: [grant("g")], isRevoked: true },
  { name: "is to be issued", held: [grant("g", { issuedAt: later })] },
  { name: "is not valid yet", held: [grant("g", { constraints: { notBefore: later } })] },
  { name: "is used up", held: [grant("g", { constraints: { maxUses: 1 } })], isSpent: true },
  { name: "has no parent", held: [grant("g", { parentId: "nowhere" })] },
  {
    name: "depends on a parent that expired",
    held: [
      grant("g", { parentId: "p" }),
      grant("p", { subject: alice, issuer: bob, constraints: { delegationDepth: 1, expiresAt: officeTime } }),
    ],
  },
  {
    name: "reaches beyond its parent",
    held: [
      grant("g", { parentId: "p" }),
      grant("p", {
        subject: alice,
        issuer: bob,
        capabilities: [capability({ scope: "exact" })],
        constraints: { delegationDepth: 1 },
      }),
    ],
  },
];

async function issue({ stores }: Office, namespaceId: string, row: (typeof outdated)[number]): Promise<void> {
  for (const one of row.held) await stores.grants.issue({ ...one, namespaceId });
  if (row.isSpent === true) await stores.usage.consume(namespaceId, "g", 1);
  if (row.isRevoked === true) await stores.grants.revoke(namespaceId, "g", officeTime);
}

/** Issues so many grants over another place, each to a principal of its own. */
async function issueMany({ db }: Database, namespaceId: string, count: number): Promise<void> {
  const capabilities = [capability({ resource: { namespace: "files", path: ["elsewhere"] } })];
  const rows = Array.from({ length: count }, (_, place) => {
    const [id, agentId] = [`many-${10_000 + place}`, `many-${10_000 + place}`];
    const content = JSON.stringify(grant(id, { namespaceId, subject: { kind: "agent", agentId }, capabilities }));
    return { namespace_id: namespaceId, id, subject: `agent:${agentId}`, issuer: "human:alice", content };
  });
  for (let start = 0; start < rows.length; start += 500)
    await db
      .insertInto("grants")
      .values(rows.slice(start, start + 500).map((row) => ({ ...row, parent_id: null })))
      .execute();
}

describe.each(databaseKinds)("who can do what on %s", (kind) => {
  const open = sharedDatabase(kind);
  const office = async (): Promise<Office> => openOffice(await open());

  describe("principals", () => {
    test("are those that grants and credentials name, with how often", async () => {
      const { stores, get } = await office();
      const [namespaceId, other] = [newTenant(), newTenant()];
      await stores.grants.issue(grant("g1", { namespaceId }));
      await stores.grants.issue(grant("g2", { namespaceId, subject: alice, issuer: bob }));
      await stores.grants.issue(grant("g3", { namespaceId: other, subject: helper }));
      await stores.credentials.create({ namespaceId, access });
      const { id } = await stores.credentials.create({ namespaceId, access });
      await stores.credentials.revoke(id, officeTime);
      await stores.credentials.create({
        namespaceId,
        access: { ...access, actor: { kind: "service", serviceId: "x" } },
      });
      expect((await get<Principals>(principalsPath, { namespaceId })).body).toEqual({
        principals: [
          { namespaceId, principal: assistant, held: 1, issued: 0, credentials: 1 },
          { namespaceId, principal: alice, held: 1, issued: 1, credentials: 0 },
          { namespaceId, principal: bob, held: 0, issued: 1, credentials: 0 },
          { namespaceId, principal: { kind: "service", serviceId: "x" }, held: 0, issued: 0, credentials: 1 },
        ],
      });
    });

    test("are found by a part of their name, page by page, and never hidden by how they are named", async () => {
      const place = await office();
      const namespaceId = newTenant();
      const nul: PrincipalRef = { kind: "agent", agentId: "nul\0-x" };
      for (let number = 0; number < 7; number += 1) {
        const subject =
          number === 0 ? nul : ({ kind: "agent", agentId: `a${number}${number % 2 ? "-x" : ""}` } as const);
        await place.stores.grants.issue(grant(`g${number}`, { namespaceId, subject }));
      }
      const listed = async (query: Readonly<Record<string, string | number>>) => {
        const pages = await readPages<Principals>(place, principalsPath, { namespaceId, ...query });
        expect(pages.every(({ principals }) => principals.length <= Number(query["limit"]))).toBe(true);
        return pages
          .flatMap(({ principals }) => principals.map(({ principal }) => Object.values(principal)[1]))
          .toSorted();
      };
      const withX = ["a1-x", "a3-x", "a5-x", "nul\0-x"];
      expect(await listed({ search: "-x", limit: 2 })).toEqual(withX);
      expect(await listed({ search: "human:", limit: 9 })).toEqual(["alice"]);
      expect(await listed({ search: "%", limit: 9 })).toEqual([]);
      expect(await listed({ limit: 3 })).toEqual(["a2", "a4", "a6", "alice", ...withX].toSorted());
      expect((await place.get<Principals>(principalsPath, { namespaceId, limit: 8 })).body).not.toHaveProperty(
        "cursor",
      );
    });
  });

  describe("reach", () => {
    test("has every place of a principal and the grants that say so", async () => {
      const { stores, get } = await office();
      const namespaceId = newTenant();
      const guarded = capability({ actions: ["write"], approval: "each" });
      await stores.grants.issue(grant("g1", { namespaceId }));
      await stores.grants.issue(
        grant("g2", { namespaceId, issuer: bob, capabilities: [capability({}, bob), guarded] }),
      );
      await stores.grants.issue(grant("g3", { namespaceId }));
      await stores.grants.issue(grant("other", { namespaceId, subject: helper }));
      const read = async (query: object = {}) =>
        (await get<Reach>(reachPath, { namespaceId, actor: "agent:assistant", ...query })).body.reach;
      const [own, ofBob, needsYes] = [
        { ...notes, grantIds: ["g1", "g3"] },
        { ...notes, owner: bob, grantIds: ["g2"] },
        { ...notes, actions: ["write"], approval: "each", grantIds: ["g2"] },
      ];
      expect(await read()).toEqual([ofBob, needsYes, own]);
      expect(await read({ owner: "human:alice" })).toEqual([needsYes, own]);
      expect(await read({ authority: "human:bob" })).toEqual([ofBob, needsYes]);
      expect(await read({ actor: "agent:helper" })).toEqual([{ ...notes, grantIds: ["other"] }]);
      expect(await read({ actor: "human:unknown" })).toEqual([]);
    });

    for (const row of outdated) {
      test(`has nothing of a grant that ${row.name}`, async () => {
        const place = await office();
        const namespaceId = newTenant();
        await issue(place, namespaceId, row);
        const { body } = await place.get<Reach>(reachPath, { namespaceId, actor: "agent:assistant" });
        expect(body).toEqual({ reach: [] });
      });
    }

    test("is for any purpose unless one is given", async () => {
      const { stores, get } = await office();
      const namespaceId = newTenant();
      await stores.grants.issue(grant("any", { namespaceId }));
      await stores.grants.issue(grant("some", { namespaceId, constraints: { purposes: ["support"] } }));
      const read = async (query: object = {}) =>
        (await get<Reach>(reachPath, { namespaceId, actor: "agent:assistant", ...query })).body.reach[0]?.grantIds;
      expect([await read(), await read({ purpose: "support" }), await read({ purpose: "billing" })]).toEqual([
        ["any"],
        ["any", "some"],
        ["any"],
      ]);
    });

    test("is not recorded, takes no use, and reaches no other tenant", async () => {
      const { stores, get } = await office();
      const [namespaceId, other] = [newTenant(), newTenant()];
      await stores.grants.issue(grant("once", { namespaceId, constraints: { maxUses: 1 } }));
      const read = async (tenant: string) =>
        (await get<Reach>(reachPath, { namespaceId: tenant, actor: "agent:assistant" })).body.reach.length;
      expect([await read(namespaceId), await read(namespaceId), await read(other)]).toEqual([1, 1, 0]);
      expect(await stores.audit.list(namespaceId, { limit: 9 })).toEqual([]);
    });

    test("that cannot be told is an error, not an empty answer", async () => {
      const database = await open();
      const grants = { load: () => Promise.reject(new Error("down")) };
      const { get } = await openOffice(database, { kernel: { grants } });
      const { status, body } = await get<Refusal>(reachPath, { namespaceId: newTenant(), actor: "agent:assistant" });
      expect([status, body.error.code]).toEqual([503, "authority_unavailable"]);
    });
  });

  describe("who reaches a resource", () => {
    const resource = "files/notes/todo.md";

    test("has the principals, on which terms, and the chain of grants up to the first", async () => {
      const { stores, get } = await office();
      const namespaceId = newTenant();
      const root = grant("root", {
        namespaceId,
        subject: alice,
        issuer: bob,
        capabilities: [capability({ actions: ["*"] })],
        constraints: { delegationDepth: 2, expiresAt: "2026-06-01T00:00:00Z" },
      });
      const middle = grant("middle", {
        namespaceId,
        parentId: "root",
        constraints: { delegationDepth: 1, expiresAt: "2026-06-01T00:00:00Z" },
      });
      const leaf = grant("leaf", {
        namespaceId,
        parentId: "middle",
        subject: helper,
        issuer: assistant,
        constraints: { expiresAt: "2026-05-01T00:00:00Z", purposes: ["support"] },
      });
      for (const one of [root, middle, leaf]) await stores.grants.issue(one);
      await stores.grants.issue(grant("beside", { namespaceId, capabilities: [capability({ scope: "exact" })] }));
      const read = async (query: object = {}) =>
        (await get<Reachers>(reachersPath, { namespaceId, resource, ...query })).body.reachers;
      const expiresAt = "2026-06-01T00:00:00Z";
      const ofHelper = {
        principal: helper,
        actions: ["read"],
        purposes: ["support"],
        expiresAt: "2026-05-01T00:00:00Z",
        chain: [leaf, middle, root],
      };
      const ofAssistant = { principal: assistant, actions: ["read"], expiresAt, chain: [middle, root] };
      const ofAlice = { principal: alice, actions: ["*"], expiresAt, chain: [root] };
      expect(await read()).toEqual([ofHelper, ofAssistant, ofAlice]);
      expect(await read({ action: "write" })).toEqual([ofAlice]);
      expect(await read({ resource: "files/notesbook" })).toEqual([]);
      expect(await read({ resource: "files/notes" })).toHaveLength(4);
      expect(await read({ namespaceId: newTenant() })).toEqual([]);
    });

    for (const row of outdated) {
      test(`has nothing of a grant that ${row.name}`, async () => {
        const place = await office();
        const namespaceId = newTenant();
        await issue(place, namespaceId, row);
        const { body } = await place.get<Reachers>(reachersPath, { namespaceId, resource });
        expect(body.reachers.map(({ chain }) => chain[0]?.id)).not.toContain("g");
        const decided = await place.kernel.explain(
          {
            ...access,
            namespaceId,
            authority: alice,
            purpose: "support",
            now: officeTime,
            traceId: "t",
            enabledToolNamespaces: [],
          },
          { action: "read", resource: { namespace: "files", path: ["notes", "todo.md"] } },
        );
        expect(decided.decision.allowed).toBe(false);
      });
    }

    test("separates owners and what needs approval", async () => {
      const { stores, get } = await office();
      const namespaceId = newTenant();
      const capabilities = [capability(), capability({}, bob), capability({ actions: ["write"], approval: "each" })];
      await stores.grants.issue(grant("g", { namespaceId, capabilities }));
      const read = async (query: object = {}) =>
        (await get<Reachers>(reachersPath, { namespaceId, resource, ...query })).body.reachers.map(
          ({ principal: _principal, chain: _chain, ...way }) => way,
        );
      const needsYes = { actions: ["write"], approval: "each" };
      expect(await read()).toEqual([{ actions: ["read"], owner: bob }, needsYes, { actions: ["read"] }]);
      expect(await read({ owner: "human:alice" })).toEqual([needsYes, { actions: ["read"] }]);
    });

    test("is read page by page", async () => {
      const place = await office();
      const namespaceId = newTenant();
      const capabilities = [capability({ resource: { namespace: "files", path: ["other"] } })];
      for (let number = 0; number < 5; number += 1)
        await place.stores.grants.issue(
          grant(`g${number}`, { namespaceId, ...(number % 2 === 1 && { capabilities }) }),
        );
      const pages = await readPages<Reachers>(place, reachersPath, { namespaceId, resource, limit: 2 });
      expect(pages.map(({ reachers }) => reachers.map(({ chain }) => chain[0]?.id))).toEqual([["g0", "g2"], ["g4"]]);
    });

    test("has pages that hold little, however large grants are and however many ways one has", async () => {
      const place = await office();
      const namespaceId = newTenant();
      const owners = Array.from({ length: 30 }, (_, number) => `owner-${10 + number}`);
      const actions = Array.from({ length: 64 }, (_, number) => `${10 + number}`.padEnd(100, "x"));
      const capabilities = owners.map((userId) =>
        capability({ resource: { namespace: "files", path: ["notes"], owner: { kind: "human", userId } }, actions }),
      );
      for (const id of ["large-1", "large-2"])
        await place.stores.grants.issue(grant(id, { namespaceId, capabilities }));
      const pages = await readPages<Reachers>(place, reachersPath, { namespaceId, resource, limit: 500 });
      for (const page of pages) expect(JSON.stringify(page).length).toBeLessThan(5_000_000);
      const told = pages.flatMap(({ reachers }) => reachers.map(({ owner, chain }) => [chain[0]?.id, owner]));
      expect(told).toEqual(
        ["large-1", "large-2"].flatMap((id) => owners.map((userId) => [id, { kind: "human", userId }])),
      );
    });

    test("refuses a cursor that is none", async () => {
      const { get } = await office();
      const query = { namespaceId: newTenant(), resource, cursor: "g1" };
      const { status, body } = await get<Refusal>(reachersPath, query);
      expect([status, body.error.message]).toEqual([
        400,
        "/cursor: expected the cursor of the page before. Leave it out to begin anew.",
      ]);
    });

    test("reads so many grants a page, and continues behind them", async () => {
      const place = await office();
      const namespaceId = newTenant();
      await issueMany(await open(), namespaceId, 2100);
      await place.stores.grants.issue(grant("the-last", { namespaceId }));
      const pages = await readPages<Reachers>(place, reachersPath, { namespaceId, resource });
      expect(pages).toMatchObject([
        { reachers: [], cursor: "behind many-11999" },
        { reachers: [{ chain: [{ id: "the-last" }] }] },
      ]);
      const search = await readPages<Principals>(place, principalsPath, { namespaceId, search: "alice" });
      expect(search.map(({ principals }) => principals.length)).toEqual([0, 0, 1]);
    });

    for (const text of ["", "files//x", "/notes", "files/a\u0000/.."]) {
      test(`needs a place: ${JSON.stringify(text)} is refused`, async () => {
        const { get } = await office();
        const { status, body } = await get<Refusal>(reachersPath, { namespaceId: newTenant(), resource: text });
        expect([status, body.error.code]).toEqual([400, "invalid_request"]);
        expect(body.error.message).toContain("/resource: expected a place such as files/notes/todo.md");
      });
    }
  });
});
