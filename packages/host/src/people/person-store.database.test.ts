import { describe, expect, test } from "vitest";
import { databaseKinds, newTenant, openPair, sharedDatabase, tenAtOnce } from "../../test/databases.ts";
import { openStores, type Stores } from "../compose/stores.ts";
import { identify, type Identity } from "./identify.ts";
import { providersOf, SignInConfigSchema } from "./sign-in-config.ts";

const at = "2026-01-01T12:00:00.000Z";
const later = "2026-01-02T12:00:00.000Z";
const now = new Date(at);
const den = {
  resource: { namespace: "files", path: ["den", "{subject}"] },
  actions: ["read", "write"],
  scope: "descendants",
  approval: "each",
};

/** A user whom a provider signs in to a tenant. */
function person(
  tenant: string,
  sub: string,
  { issuer = "https://id.example", holds = [den] as unknown[] } = {},
): Identity {
  const people = { tenant, holds };
  const [config] = providersOf(SignInConfigSchema.parse({ issuer, clientId: "turnpike", people }));
  const found = config && identify(config, "person", { iss: issuer, sub, name: "Alice" });
  if (found?.ok !== true) throw new Error("No one is identified.");
  return found.identity;
}

async function entered(stores: Stores, identity: Identity, when = at) {
  const found = await stores.people.enter(identity, when);
  if (found.kind !== "entered") throw new Error(found.kind);
  return found;
}

describe.each(databaseKinds)("people on %s", (kind) => {
  const open = sharedDatabase(kind);

  test("get what everyone holds at their first sign-in, and never again", async () => {
    const stores = openStores(await open());
    const tenant = newTenant();
    const first = await entered(stores, person(tenant, "alice"));
    const grants = await stores.grants.list(tenant, { limit: 10 });
    expect(grants).toEqual([
      {
        id: `hold-${first.person.id}-1`,
        namespaceId: tenant,
        issuer: { kind: "service", serviceId: "directory" },
        subject: { kind: "human", userId: "alice" },
        capabilities: [{ ...den, resource: { namespace: "files", path: ["den", "alice"] } }],
        constraints: { delegationDepth: 1 },
        issuedAt: at,
      },
    ]);
    await stores.grants.revoke(tenant, `hold-${first.person.id}-1`, later);
    const second = await entered(stores, person(tenant, "alice", { holds: [den, den] }), later);
    expect([second.isNew, second.grants, second.person.id]).toEqual([false, [], first.person.id]);
    const after = await stores.grants.list(tenant, { limit: 10 });
    expect(after.map(({ revokedAt }) => revokedAt)).toEqual([later]);
    expect(await stores.people.list({ namespaceId: tenant, limit: 10 })).toEqual([
      { ...first.person, signedInAt: later },
    ]);
  });

  test("who signs in ten times at once is one person with one grant", async () => {
    const stores = openStores(await open());
    const tenant = newTenant();
    const all = await tenAtOnce(10, () => stores.people.enter(person(tenant, "alice"), at));
    expect(all.filter((one) => one.kind === "entered" && one.isNew)).toHaveLength(1);
    expect(await stores.grants.list(tenant, { limit: 10 })).toHaveLength(1);
    expect(await stores.credentials.list({ namespaceId: tenant, limit: 10 })).toHaveLength(1);
  });

  test("are not let in while what everyone holds would break a rule", async () => {
    const stores = openStores(await open());
    const tenant = newTenant();
    await stores.invariants.add({ id: "no-dens", namespaceId: tenant, never: { resource: "files/den" } }, at);
    expect(await stores.people.enter(person(tenant, "alice"), at)).toEqual({ kind: "breaks_rule" });
    expect(await stores.people.list({ namespaceId: tenant, limit: 10 })).toEqual([]);
    expect(await stores.credentials.list({ namespaceId: tenant, limit: 10 })).toEqual([]);
    await stores.invariants.remove(tenant, "no-dens");
    expect(await stores.people.enter(person(tenant, "alice"), at)).toMatchObject({ kind: "entered", isNew: true });
  });

  test("a name is of one user alone: another user of any provider is not let in under it", async () => {
    const stores = openStores(await open());
    const tenant = newTenant();
    await entered(stores, person(tenant, "alice"));
    const other = person(tenant, "alice", { issuer: "https://other.example" });
    expect(await stores.people.enter(other, at)).toEqual({ kind: "taken" });
    expect(await stores.people.enter({ ...person(tenant, "alice"), providerSubject: "bob" }, at)).toEqual({
      kind: "taken",
    });
    // The same user under another name would be another user.
    const renamed = { ...person(tenant, "bob"), providerSubject: "alice" };
    expect(await stores.people.enter(renamed, at)).toEqual({ kind: "taken" });
    expect(await stores.grants.list(tenant, { limit: 10 })).toHaveLength(1);
    expect(await stores.people.enter(person(newTenant(), "alice"), at)).toMatchObject({ kind: "entered" });
  });

  test("whose credential was revoked is not let in, until an operator restores them, without what they held", async () => {
    const stores = openStores(await open());
    const tenant = newTenant();
    const { person: alice, presented } = await entered(stores, person(tenant, "alice"));
    expect(await stores.people.restore(alice.id)).toBe(false);
    await stores.credentials.revoke(alice.credentialId, at);
    expect(await stores.people.enter(person(tenant, "alice"), later)).toEqual({ kind: "revoked" });
    const human = { kind: "human", userId: "alice" } as const;
    expect(await stores.people.find(tenant, human)).toMatchObject({ isRevoked: true });
    expect(await stores.people.restore(alice.id)).toBe(true);
    const again = await entered(stores, person(tenant, "alice"), later);
    expect([again.isNew, again.grants]).toEqual([false, []]);
    expect(await stores.credentials.verifyAgain(again.presented, now)).toMatchObject({ namespaceId: tenant });
    expect(await stores.credentials.verifyAgain(presented, now)).toBeUndefined();
    expect(await stores.people.find(tenant, { kind: "human", userId: "dave" })).toBeUndefined();
  });

  test("their credential has no token that could be made or rotated", async () => {
    const stores = openStores(await open());
    const { person: alice } = await entered(stores, person(newTenant(), "alice"));
    expect(await stores.credentials.rotate(alice.credentialId, now)).toBeUndefined();
    expect(await stores.people.findBy(alice.credentialId)).toEqual(alice);
  });

  test("what counts once counts once", async () => {
    const stores = openStores(await open());
    const counted = await tenAtOnce(10, () => stores.people.isFirst("answer-1", now));
    expect(counted.filter(Boolean)).toHaveLength(1);
    expect(await stores.people.isFirst("answer-2", now)).toBe(true);
  });
});

test.runIf(databaseKinds.includes("postgres"))(
  "a person who is revoked through one host is gone on the other",
  async () => {
    const [one, other] = (await openPair()).map((database) => openStores(database));
    if (one === undefined || other === undefined) throw new Error("There are two.");
    const { person: alice, presented } = await entered(one, person("acme", "alice"));
    expect(await other.credentials.verifyAgain(presented, now)).toBeDefined();
    await one.credentials.revoke(alice.credentialId, at);
    expect(await other.credentials.verifyAgain(presented, now)).toBeUndefined();
    expect(await other.people.enter(person("acme", "alice"), later)).toEqual({ kind: "revoked" });
  },
);
