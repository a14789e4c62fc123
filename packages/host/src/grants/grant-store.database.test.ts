import { describe, expect, test } from "vitest";
import { principalKey, type Grant } from "turnpike/contracts";
import { createKernel } from "turnpike/kernel";
import { grantSourceSuite } from "turnpike/testing";
import { databaseKinds, newTenant, openFresh, openPair, sharedDatabase } from "../../test/databases.ts";
import { alice, assistant, context, grant, neverAborted, now, scope } from "../../test/records.ts";
import { recordStatements } from "../../test/watched-database.ts";
import type { GrantStore } from "./grant-store.ts";
import { openStores } from "../compose/stores.ts";

const later = "2026-01-01T13:00:00Z";

describe.each(databaseKinds)("grants on %s", (kind) => {
  const open = sharedDatabase(kind);

  const cases = grantSourceSuite(async (grants) => {
    const { grants: source } = openStores(await openFresh(kind));
    for (const one of grants) await source.issue(one);
    return { source, revoke: async (...args) => void (await source.revoke(...args)) };
  });
  for (const one of cases) test(one.name, () => expect(one.run()).resolves.toBeUndefined());

  test("an id is taken once in a tenant, and free in another one", async () => {
    const { grants } = openStores(await openFresh(kind));
    await grants.issue(grant("grant-1"));
    await expect(grants.issue(grant("grant-1", { issuer: assistant }))).rejects.toThrow(/unique/i);
    await grants.issue(grant("grant-1", { namespaceId: "tenant-2" }));
    expect(await grants.find("tenant-1", "grant-1")).toEqual(grant("grant-1"));
    expect(await grants.find("tenant-2", "grant-1")).toEqual(grant("grant-1", { namespaceId: "tenant-2" }));
  });

  test("of many ids those are found that a tenant has, in a query for a thousand of them", async () => {
    const { database, statements } = recordStatements(await openFresh(kind));
    const { grants } = openStores(database);
    for (const id of ["grant-1", "nul\0", "half\ud800"]) await grants.issue(grant(id));
    await grants.issue(grant("elsewhere", { namespaceId: "tenant-2" }));
    const unknown = Array.from({ length: 1500 }, (_, place) => `unknown-${place}`);
    statements.length = 0;
    const found = await grants.findAll("tenant-1", ["nul\0", "elsewhere", ...unknown, "half\ud800", "grant-1"]);
    expect(statements).toHaveLength(2);
    expect([...found].toSorted()).toEqual([
      ["grant-1", grant("grant-1")],
      ["half\ud800", grant("half\ud800")],
      ["nul\0", grant("nul\0")],
    ]);
    expect(await grants.findAll("tenant-1", [])).toEqual(new Map());
  });

  test("no name of an actor or a tenant makes what is remembered of one load the answer to another", async () => {
    const { grants } = openStores(await openFresh(kind));
    const elsewhere = grant("grant-1", { namespaceId: `\0${scope.namespaceId}` });
    await grants.issue(elsewhere);
    expect(await grants.load({ ...scope, namespaceId: elsewhere.namespaceId }, neverAborted)).toEqual([elsewhere]);
    const { authority: _authority, ...unscoped } = scope;
    const actor = { kind: "agent", agentId: `${assistant.agentId}\0${principalKey(alice)}` } as const;
    expect(await grants.load({ ...unscoped, actor }, neverAborted)).toEqual([]);
  });

  test("a grant that does not fit the contract is refused, and nothing of it is stored", async () => {
    const { grants } = openStores(await openFresh(kind));
    await expect(grants.issue(grant("grant-1", { issuedAt: "yesterday" }))).rejects.toThrow(/contract.*issuedAt/);
    expect(await grants.find("tenant-1", "grant-1")).toBeUndefined();
    expect(await grants.load(scope, neverAborted)).toEqual([]);
  });

  test("what is issued is seen by the next load, also by one that found nothing before", async () => {
    const { grants } = openStores(await openFresh(kind));
    expect(await grants.load(scope, neverAborted)).toEqual([]);
    await grants.issue(grant("grant-1"));
    expect(await grants.load(scope, neverAborted)).toEqual([grant("grant-1")]);
  });

  test("a revoked grant retains every other field, and cannot be revoked again", async () => {
    const { grants } = openStores(await openFresh(kind));
    await grants.issue(grant("grant-1"));
    expect(await grants.revoke("tenant-1", "grant-1", now)).toBe(true);
    expect(await grants.revoke("tenant-1", "grant-1", later)).toBe(false);
    expect(await grants.findStored("tenant-1", "grant-1")).toEqual(grant("grant-1", { revokedAt: now }));
    expect(await grants.findStored("tenant-1", "grant-2")).toBeUndefined();
  });

  describe("under a clock that is hours behind", () => {
    const before = "2026-01-01T11:00:00Z";
    const read = { resource: { namespace: "files", path: ["notes", "a"] }, action: "read" };
    const reasonAt = async (grants: GrantStore, at: string): Promise<string> => {
      const kernel = createKernel({ grants, audit: "none" });
      return (await kernel.authorize(context({ now: at, enabledToolNamespaces: [] }), read)).reasonCode;
    };

    test("a grant that was revoked stays revoked, on this host and after a restart; operators see the true time", async () => {
      const database = await openFresh(kind);
      const { grants } = openStores(database);
      await grants.issue(grant("grant-1"));
      expect(await reasonAt(grants, before)).toBe("allowed");
      await grants.revoke("tenant-1", "grant-1", later);
      for (const at of [before, later, "2026-01-01T10:00:00Z"]) {
        expect(await reasonAt(grants, at)).toBe("no_matching_grant");
        expect(await reasonAt(openStores(database).grants, at)).toBe("no_matching_grant");
      }
      const stored = grant("grant-1", { revokedAt: later });
      expect(await grants.findStored("tenant-1", "grant-1")).toEqual(stored);
      expect(await grants.list("tenant-1", { limit: 9 })).toEqual([stored]);
    });

    test("what was derived from a grant that was revoked has fallen", async () => {
      const { grants } = openStores(await openFresh(kind));
      await grants.issue(grant("parent", { subject: alice, constraints: { delegationDepth: 1 } }));
      await grants.issue(grant("child", { parentId: "parent", constraints: { delegationDepth: 0 } }));
      expect(await reasonAt(grants, before)).toBe("allowed");
      await grants.revoke("tenant-1", "parent", later);
      expect(await reasonAt(grants, before)).toBe("delegation_chain_invalid");
    });

    test("a grant that is to end later is live until then, and can be revoked before and after", async () => {
      const { grants } = openStores(await openFresh(kind));
      await grants.issue(grant("grant-1", { revokedAt: now }));
      expect([await reasonAt(grants, before), await reasonAt(grants, now)]).toEqual(["allowed", "no_matching_grant"]);
      expect(await grants.revoke("tenant-1", "grant-1", later)).toBe(true);
      expect(await reasonAt(grants, before)).toBe("no_matching_grant");
      expect(await grants.findStored("tenant-1", "grant-1")).toEqual(grant("grant-1", { revokedAt: now }));
    });
  });

  for (const row of [
    { name: "an unknown id", tenant: "tenant-1", id: "grant-2" },
    { name: "an id that only another tenant has", tenant: "tenant-2", id: "grant-1" },
  ]) {
    test(`revoking ${row.name} says so and changes nothing`, async () => {
      const { grants } = openStores(await openFresh(kind));
      await grants.issue(grant("grant-1"));
      expect(await grants.revoke(row.tenant, row.id, now)).toBe(false);
      expect(await grants.load(scope, neverAborted)).toEqual([grant("grant-1")]);
    });
  }

  test("the same set is given as the same frozen array until something changes", async () => {
    const { grants } = openStores(await openFresh(kind));
    await grants.issue(grant("grant-1"));
    const first = await grants.load(scope, neverAborted);
    expect(Object.isFrozen(first) && Object.isFrozen(first[0]?.capabilities)).toBe(true);
    expect(await grants.load(scope, neverAborted)).toBe(first);
    await grants.issue(grant("grant-2"));
    expect(await grants.load(scope, neverAborted)).not.toBe(first);
  });

  test("a change leaves all other grants of a set as they were read before", async () => {
    const { grants } = openStores(await openFresh(kind));
    for (const id of ["grant-1", "grant-2"]) await grants.issue(grant(id));
    const before = await grants.load(scope, neverAborted);
    await grants.revoke(scope.namespaceId, "grant-1", later);
    await grants.issue(grant("grant-3"));
    const after = await grants.load(scope, neverAborted);
    expect(after.map(({ id, revokedAt }) => [id, revokedAt !== undefined])).toEqual([
      ["grant-1", true],
      ["grant-2", false],
      ["grant-3", false],
    ]);
    expect(after[1]).toBe(before[1]);
    expect(Object.isFrozen(after)).toBe(true);
  });

  test("a second load does not read the grants again", async () => {
    const { database, statements } = recordStatements(await openFresh(kind));
    const { grants } = openStores(database);
    await grants.issue(grant("grant-1"));
    await grants.load(scope, neverAborted);
    statements.length = 0;
    await grants.load(scope, neverAborted);
    expect(statements.filter((statement) => /from "?grants"?/.test(statement))).toEqual([]);
  });

  describe("of many grants that have ended", () => {
    const minute = (place: number): string => `2026-01-01T10:${String(place).padStart(2, "0")}:00Z`;
    const early = { ...scope, now: "2026-01-01T09:00:00Z" };
    const idsOf = (grants: readonly Grant[]): string[] => grants.map(({ id }) => id);
    const places = Array.from({ length: 30 }, (_, place) => place);
    const expired = places.map((place) => `expired-${String(place).padStart(2, "0")}`);
    const revoked = places.map((place) => `revoked-${String(place).padStart(2, "0")}`);
    const living = ["expires-later", "forever", "revoked-later"];

    /** Every minute from ten on one expires and one is revoked. Others count at the scope's instant. */
    async function openCrowd(): Promise<{ grants: GrantStore; statements: string[] }> {
      const { database, statements } = recordStatements(await openFresh(kind));
      const { grants } = openStores(database);
      const issue = [
        ...expired.map((id, place) => grant(id, { constraints: { expiresAt: minute(place) } })),
        ...revoked.map((id) => grant(id)),
        grant("expires-later", { constraints: { expiresAt: "2026-01-01T13:00:00.001+01:00" } }),
        grant("forever", { constraints: { expiresAt: "9999-12-31T23:59:59-01:00" } }),
        grant("revoked-later", { revokedAt: later }),
        grant("of-another", { issuer: assistant }),
      ];
      const { revision } = await grants.readState("tenant-1");
      expect(await grants.changeAll("tenant-1", { issue, revoke: [], at: now }, revision)).toBe(true);
      for (const [place, id] of revoked.entries()) {
        if (place % 2 === 0) await grants.revoke("tenant-1", id, minute(place));
        else {
          const { revision: current } = await grants.readState("tenant-1");
          await grants.changeAll("tenant-1", { issue: [], revoke: [id], at: minute(place) }, current);
        }
      }
      return { grants, statements };
    }

    test("a call reads the last fifty, and all that count", async () => {
      const { grants } = await openCrowd();
      const last = [...expired.slice(5), ...living, ...revoked.slice(5)];
      expect(idsOf(await grants.load(scope, neverAborted))).toEqual(last.toSorted());
      const { authority: _authority, ...unscoped } = scope;
      expect(idsOf(await grants.load(unscoped, neverAborted))).toEqual([...living, "of-another"].toSorted());
    });

    test("a call whose clock was put back reads those that count for it", async () => {
      const { grants } = await openCrowd();
      await grants.load(scope, neverAborted);
      const all = [...expired, ...living, ...revoked].toSorted();
      const before = await grants.load(early, neverAborted);
      expect(idsOf(before)).toEqual(all);
      // What was acknowledged as revoked stays so on every clock.
      expect(before.filter(({ revokedAt, issuedAt }) => revokedAt === issuedAt)).toHaveLength(30);
      expect(idsOf(await grants.loadStored(early))).toEqual(all);
      expect((await grants.loadStored(early)).find(({ id }) => id === "revoked-07")?.revokedAt).toBe(minute(7));
    });

    test("a read at a time to come is no reason to read anew for the calls before it", async () => {
      const { grants, statements } = await openCrowd();
      await grants.load({ ...scope, now: "2999-01-01T00:00:00Z" }, neverAborted);
      statements.length = 0;
      const loaded = await grants.load({ ...scope, now: new Date(Date.now() + 60_000).toISOString() }, neverAborted);
      expect(idsOf(loaded)).toContain("forever");
      expect(statements.filter((statement) => /from "?grants"?/.test(statement))).toEqual([]);
    });
  });

  describe("a list of grants", () => {
    const bob = { kind: "human", userId: "bob" } as const;
    const held = [
      grant("a"),
      grant("b", { subject: bob }),
      grant("c", { issuer: bob }),
      grant("d", { subject: bob, issuer: bob, revokedAt: now }),
    ];
    const rows: { name: string; filter: { subject?: typeof bob; issuer?: typeof bob; after?: string }; ids: string }[] =
      [
        { name: "of a tenant has all of them, by id", filter: {}, ids: "abcd" },
        { name: "of a subject", filter: { subject: bob }, ids: "bd" },
        { name: "of an issuer", filter: { issuer: bob }, ids: "cd" },
        { name: "of both", filter: { subject: bob, issuer: bob }, ids: "d" },
        { name: "after one of them", filter: { after: "b" }, ids: "cd" },
        { name: "after an id that is between two", filter: { after: "bb" }, ids: "cd" },
        { name: "after the last", filter: { after: "d" }, ids: "" },
        { name: "of a subject after one that is not theirs", filter: { subject: bob, after: "a" }, ids: "bd" },
      ];
    for (const { name, filter, ids } of rows) {
      test(name, async () => {
        const { grants } = openStores(await open());
        const [namespaceId, elsewhere] = [newTenant(), newTenant()];
        for (const one of held) {
          await grants.issue({ ...one, namespaceId });
          await grants.issue({ ...one, id: `${one.id}-elsewhere`, namespaceId: elsewhere });
        }
        const listed = await grants.list(namespaceId, { ...filter, limit: 9 });
        expect(listed).toEqual(held.filter(({ id }) => ids.includes(id)).map((one) => ({ ...one, namespaceId })));
        expect(await grants.list(namespaceId, { ...filter, limit: 1 })).toEqual(listed.slice(0, 1));
      });
    }

    test("sees what was issued and revoked an instant before", async () => {
      const { grants } = openStores(await open());
      const namespaceId = newTenant();
      expect(await grants.list(namespaceId, { limit: 9 })).toEqual([]);
      await grants.issue(grant("a", { namespaceId }));
      expect(await grants.list(namespaceId, { limit: 9 })).toEqual([grant("a", { namespaceId })]);
      await grants.revoke(namespaceId, "a", now);
      expect(await grants.list(namespaceId, { limit: 9 })).toEqual([grant("a", { namespaceId, revokedAt: now })]);
    });
  });

  describe("the descendants of a grant", () => {
    const derived = [
      grant("root"),
      grant("z-child", { parentId: "root" }),
      grant("a-grandchild", { parentId: "z-child" }),
      grant("great-grandchild", { parentId: "a-grandchild", revokedAt: now }),
      grant("b-child", { parentId: "root" }),
      grant("other-root"),
      grant("other-child", { parentId: "other-root" }),
      grant("root-2", { parentId: "root-1" }),
      grant("talks-of-it", { metadata: { parentId: "root" } }),
    ];
    const rows: { of: string; isElsewhere?: true; ids: string[] }[] = [
      { of: "root", ids: ["b-child", "z-child", "a-grandchild", "great-grandchild"] },
      { of: "z-child", ids: ["a-grandchild", "great-grandchild"] },
      { of: "great-grandchild", ids: [] },
      { of: "other-root", ids: ["other-child"] },
      { of: "root-1", ids: ["root-2"] },
      { of: "unknown", ids: [] },
      { of: "root", isElsewhere: true, ids: [] },
      { of: "%", ids: [] },
      { of: "nul\0", ids: [] },
    ];
    for (const { of, isElsewhere, ids } of rows) {
      test(`${JSON.stringify(of)}${isElsewhere ? " of another tenant" : ""} are ${ids.length}, nearest first`, async () => {
        const { grants } = openStores(await open());
        const namespaceId = newTenant();
        for (const one of derived) await grants.issue({ ...one, namespaceId });
        const found = await grants.descendants(isElsewhere ? newTenant() : namespaceId, of, 9);
        expect(found).toEqual(ids.map((id) => ({ ...derived.find((one) => one.id === id), namespaceId })));
        const nearest = await grants.descendants(isElsewhere ? newTenant() : namespaceId, of, 1);
        expect(nearest).toEqual(found.slice(0, 1));
      });
    }

    test("through a chain of many links are all of them", async () => {
      const { grants } = openStores(await open());
      const namespaceId = newTenant();
      const ids = Array.from({ length: 40 }, (_, place) => `link-${place}`);
      for (const [place, id] of ids.entries())
        await grants.issue(grant(id, { namespaceId, ...(place > 0 && { parentId: `link-${place - 1}` }) }));
      expect((await grants.descendants(namespaceId, "link-0", 99)).map(({ id }) => id)).toEqual(ids.slice(1));
    });

    test("are found when their parent's id is none that a column can have", async () => {
      const { grants } = openStores(await open());
      const namespaceId = newTenant();
      for (const one of [grant("nul\0"), grant("child", { parentId: "nul\0" })])
        await grants.issue({ ...one, namespaceId });
      expect(await grants.descendants(namespaceId, "nul\0", 9)).toMatchObject([{ id: "child" }]);
    });
  });

  test("subjects whose ids differ in one unpaired surrogate never see each other's grants", async () => {
    const { grants } = openStores(await openFresh(kind));
    const subject = { kind: "human", userId: "\ud800" } as const;
    await grants.issue(grant("grant-1", { subject })).catch(() => {});
    const asked = { ...scope, actor: { kind: "human", userId: "\ud801" } } as const;
    expect(await grants.load(asked, neverAborted).catch(() => [])).toEqual([]);
  });
});

describe("grants on a PostgreSQL that two hosts share", () => {
  test("a revocation through one is seen by the next call on the other", async () => {
    const [here, there] = (await openPair()).map((database) => openStores(database).grants);
    await here?.issue(grant("grant-1"));
    expect(await there?.load(scope, neverAborted)).toEqual([grant("grant-1")]);
    for (const [place, id] of ["grant-1", "grant-2", "grant-3"].entries()) {
      if (place > 0) await here?.issue(grant(id));
      expect((await there?.find("tenant-1", id))?.revokedAt).toBeUndefined();
      await here?.revoke("tenant-1", id, now);
      const loaded = await there?.load(scope, neverAborted);
      expect(loaded?.find((one) => one.id === id)?.revokedAt).toBe(grant(id).issuedAt);
      expect((await there?.find("tenant-1", id))?.revokedAt).toBe(grant(id).issuedAt);
    }
  });

  test("of two revocations at once the earlier one is in force", async () => {
    const hosts = (await openPair()).map((database) => openStores(database).grants);
    for (const id of Array.from({ length: 20 }, (_, place) => `grant-${place}`)) {
      await hosts[0]?.issue(grant(id, { issuer: alice }));
      const [earlier] = await Promise.all(
        hosts.map((grants, place) => grants.revoke("tenant-1", id, place === 0 ? now : later)),
      );
      expect(earlier).toBe(true);
      expect((await hosts[0]?.findStored("tenant-1", id))?.revokedAt).toBe(now);
    }
  });

  test("of two revocations of the same instant one counts", async () => {
    const hosts = (await openPair()).map((database) => openStores(database).grants);
    for (const id of Array.from({ length: 20 }, (_, place) => `grant-${place}`)) {
      await hosts[0]?.issue(grant(id, { issuer: alice }));
      const revoked = await Promise.all(hosts.map((grants) => grants.revoke("tenant-1", id, now)));
      expect(revoked.filter(Boolean)).toHaveLength(1);
    }
  });
});
