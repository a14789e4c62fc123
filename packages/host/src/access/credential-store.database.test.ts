import { parsePrincipal } from "turnpike/contracts";
import { createHash } from "node:crypto";
import { describe, expect, test } from "vitest";
import { databaseKinds, newTenant, openPair, sharedDatabase } from "../../test/databases.ts";
import { access, now } from "../../test/records.ts";
import { recordStatements } from "../../test/watched-database.ts";
import { openStores } from "../compose/stores.ts";
import { presentedBy } from "./credential-writes.ts";

const at = (time: string): Date => new Date(time);

describe.each(databaseKinds)("credentials on %s", (kind) => {
  const open = sharedDatabase(kind);

  test("when one was last used is written together with others, to the minute, and never earlier than it is", async () => {
    const database = await open();
    const [here, there] = [openStores(database).credentials, openStores(database).credentials];
    const [used, other] = [
      await here.create({ namespaceId: "t", access }),
      await here.create({ namespaceId: "t", access }),
    ];
    const lastUse = async (id: string) => (await here.find(id))?.lastUsedAt;
    expect(await here.verify(used.token, new Date("2026-01-01T12:00:30.000Z"))).toBeDefined();
    await there.verify(used.token, new Date("2026-01-01T12:07:59.999Z"));
    await here.verify(`${other.token.slice(0, -4)}0000`, new Date("2026-01-01T12:00:30.000Z"));
    expect(await lastUse(used.id)).toBeUndefined();
    await here.writeUses();
    expect(await lastUse(used.id)).toBe("2026-01-01T12:00:00.000Z");
    await there.writeUses();
    expect(await lastUse(used.id)).toBe("2026-01-01T12:07:00.000Z");
    await here.verify(used.token, new Date("2026-01-01T12:03:00.000Z"));
    await here.writeUses();
    expect([await lastUse(used.id), await lastUse(other.id)]).toEqual(["2026-01-01T12:07:00.000Z", undefined]);
    const listed = (await here.list({ namespaceId: "t", limit: 500 })).find(({ id }) => id === used.id);
    expect(listed?.lastUsedAt).toBe("2026-01-01T12:07:00.000Z");
  });

  test("a token is tp_<id>_<secret>, and nothing in the database is its secret", async () => {
    const database = await open();
    const { id, token } = await openStores(database).credentials.create({ namespaceId: "tenant-1", access });
    expect(token).toMatch(/^tp_[0-9a-f]{16}_[0-9a-f]{64}$/);
    expect(token.split("_")[1]).toBe(id);
    const rows = await database.db.selectFrom("credentials").selectAll().where("id", "=", id).execute();
    const secret = token.split("_")[2] ?? "";
    expect(rows).toHaveLength(1);
    expect(JSON.stringify(rows)).not.toContain(secret);
    expect(rows[0]?.secret_hash).toBe(createHash("sha256").update(secret).digest("hex"));
  });

  test("two credentials share neither id nor secret", async () => {
    const { credentials } = openStores(await open());
    const one = await credentials.create({ namespaceId: "tenant-1", access });
    const other = await credentials.create({ namespaceId: "tenant-1", access });
    expect(one.id).not.toBe(other.id);
    expect(one.token.slice(-64)).not.toBe(other.token.slice(-64));
  });

  test("a good token is the credential it was made as, and nothing more", async () => {
    const { credentials } = openStores(await open());
    const { id, token } = await credentials.create({ namespaceId: "tenant-0", access: { ...access, admin: true } });
    const verified = await credentials.verify(token, at(now));
    expect(verified).toEqual({ id, namespaceId: "tenant-0", access: { ...access, admin: true } });
  });

  for (const row of [
    { name: "a wrong secret", change: (token: string) => `${token.slice(0, -1)}${token.endsWith("0") ? "1" : "0"}` },
    { name: "an unknown id", change: (token: string) => `tp_${"0".repeat(16)}_${token.slice(-64)}` },
    { name: "a secret of another length", change: (token: string) => token.slice(0, -1) },
    { name: "upper case", change: (token: string) => token.toUpperCase() },
    { name: "something before it", change: (token: string) => ` ${token}` },
    { name: "a line after it", change: (token: string) => `${token}\n` },
    { name: "no secret", change: (token: string) => token.slice(0, 20) },
    { name: "nothing at all", change: () => "" },
    { name: "the hash for the secret", change: (token: string) => `${token.slice(0, 20)}${sha256(token.slice(-64))}` },
  ]) {
    test(`a token with ${row.name} is not valid`, async () => {
      const { credentials } = openStores(await open());
      const { token } = await credentials.create({ namespaceId: "tenant-1", access });
      expect(await credentials.verify(row.change(token), at(now))).toBeUndefined();
      expect(await credentials.verify(token, at(now))).toBeDefined();
    });
  }

  for (const row of [
    { name: "just before it expires", when: "2026-01-01T11:59:59.999Z", isGood: true },
    { name: "when it expires", when: "2026-01-01T12:00:00.000Z", isGood: false },
    { name: "after it expired", when: "2027-01-01T00:00:00.000Z", isGood: false },
  ]) {
    test(`a token is ${row.isGood ? "good" : "not valid"} ${row.name}`, async () => {
      const { credentials } = openStores(await open());
      const { token } = await credentials.create({ namespaceId: "tenant-1", access, expiresAt: now });
      expect((await credentials.verify(token, at(row.when))) !== undefined).toBe(row.isGood);
    });
  }

  test("a revoked token is not valid from the next call on, and the others stay good", async () => {
    const { credentials } = openStores(await open());
    const gone = await credentials.create({ namespaceId: "tenant-1", access });
    const other = await credentials.create({ namespaceId: "tenant-1", access });
    expect(await credentials.verify(gone.token, at(now))).toBeDefined();
    expect(await credentials.revoke(gone.id, now)).toBe(true);
    expect(await credentials.verify(gone.token, at(now))).toBeUndefined();
    expect(await credentials.verify(other.token, at(now))).toBeDefined();
  });

  test("a revocation holds at once, also where the clock is behind", async () => {
    const { credentials } = openStores(await open());
    const { id, token } = await credentials.create({ namespaceId: "tenant-1", access });
    await credentials.revoke(id, now);
    expect(await credentials.verify(token, at("2026-01-01T11:59:58Z"))).toBeUndefined();
  });

  test("a second revocation with a later time does not bring a token back", async () => {
    const { credentials } = openStores(await open());
    const { id, token } = await credentials.create({ namespaceId: "tenant-1", access });
    await credentials.revoke(id, now);
    await credentials.revoke(id, "2027-01-01T00:00:00Z");
    expect(await credentials.verify(token, at("2026-06-01T00:00:00Z"))).toBeUndefined();
  });

  test("a credential that was presented is the same later, unless it was rotated or does not exist", async () => {
    const { credentials } = openStores(await open());
    const { id, token } = await credentials.create({ namespaceId: "tenant-1", access });
    const presented = presentedBy(token);
    expect(await credentials.verifyAgain(presented, at(now))).toEqual({ id, namespaceId: "tenant-1", access });
    expect(await credentials.verifyAgain({ ...presented, id: "0".repeat(16) }, at(now))).toBeUndefined();
    await credentials.rotate(id, at(now));
    expect(await credentials.verifyAgain(presented, at(now))).toBeUndefined();
  });

  test("revoking what is not there says so", async () => {
    expect(await openStores(await open()).credentials.revoke("0".repeat(16), now)).toBe(false);
  });

  test("what an operator may know of a credential is who it belongs to and what became of it, and no secret", async () => {
    const { credentials } = openStores(await open());
    const namespaceId = newTenant();
    const made = await credentials.create({ namespaceId, access, expiresAt: "2027-01-01T00:00:00Z" });
    const known = {
      id: made.id,
      namespaceId,
      access,
      createdAt: expect.stringMatching(/Z$/),
      expiresAt: "2027-01-01T00:00:00Z",
    };
    expect(await credentials.find(made.id)).toEqual(known);
    await credentials.revoke(made.id, now);
    expect(await credentials.find(made.id)).toEqual({ ...known, revokedAt: now });
    expect(await credentials.list({ namespaceId, limit: 9 })).toEqual([{ ...known, revokedAt: now }]);
  });

  for (const id of ["", "0".repeat(16), "nul\0", "\ud800", "%"]) {
    test(`the id ${JSON.stringify(id)} is not valid: there is nothing to find and nothing to revoke`, async () => {
      const { credentials } = openStores(await open());
      expect(await credentials.find(id)).toBeUndefined();
      expect(await credentials.revoke(id, now)).toBe(false);
    });
  }

  test("a list has the credentials of a tenant by id, after the one that it is told, and no more than it is told", async () => {
    const { credentials } = openStores(await open());
    const [namespaceId, other] = [newTenant(), newTenant()];
    const made: string[] = [];
    for (const tenant of [namespaceId, other, namespaceId, other, namespaceId])
      made.push((await credentials.create({ namespaceId: tenant, access })).id);
    const own = made.filter((_, place) => place % 2 === 0).toSorted();
    const listed = async (page: { after?: string; limit: number }) =>
      (await credentials.list({ namespaceId, ...page })).map(({ id }) => id);
    expect(await listed({ limit: 9 })).toEqual(own);
    expect(await listed({ limit: 2 })).toEqual(own.slice(0, 2));
    expect(await listed({ after: own[0] ?? "", limit: 9 })).toEqual(own.slice(1));
    expect(await listed({ after: own[2] ?? "", limit: 9 })).toEqual([]);
    const all = (await credentials.list({ limit: 10_000 })).map(({ id }) => id);
    expect(all).toEqual(expect.arrayContaining(made));
    expect(all).toEqual(all.toSorted());
  });

  test("access that does not fit is refused, and no credential is made", async () => {
    const database = await open();
    const { credentials } = openStores(database);
    const namespaceId = newTenant();
    await expect(credentials.create({ namespaceId, access: { ...access, purposes: [] } })).rejects.toThrow("purposes");
    const made = database.db.selectFrom("credentials").selectAll().where("namespace_id", "=", namespaceId);
    expect(await made.execute()).toEqual([]);
  });

  test("a second verify does not read the credential again", async () => {
    const { database, statements } = recordStatements(await open());
    const { credentials } = openStores(database);
    const { token } = await credentials.create({ namespaceId: "tenant-1", access });
    await credentials.verify(token, at(now));
    statements.length = 0;
    await credentials.verify(token, at(now));
    expect(statements.filter((statement) => statement.includes("credentials"))).toEqual([]);
  });

  test("a revoked token and a wrong secret are read as often as an unknown id, also when they are known", async () => {
    const { database, statements } = recordStatements(await open());
    const { credentials } = openStores(database);
    const other = await credentials.create({ namespaceId: "tenant-1", access });
    const gone = await credentials.create({ namespaceId: "tenant-1", access });
    await credentials.revoke(gone.id, now);
    const reads: string[][] = [];
    for (const token of [`tp_${"0".repeat(16)}_${"0".repeat(64)}`, gone.token, `tp_${other.id}_${"0".repeat(64)}`]) {
      await credentials.verify(token, at(now));
      statements.length = 0;
      expect(await credentials.verify(token, at(now))).toBeUndefined();
      reads.push([...statements]);
    }
    const [unknown, revoked, wrong] = reads;
    expect(unknown?.filter((statement) => statement.includes("credentials"))).toHaveLength(1);
    expect([revoked, wrong]).toEqual([unknown, unknown]);
  });
});

test("a token revoked through one host is not valid on the next call on another", async () => {
  const [here, there] = (await openPair()).map((database) => openStores(database).credentials);
  const made = await here?.create({ namespaceId: "tenant-1", access });
  expect(await there?.verify(made?.token ?? "", at(now))).toBeDefined();
  await here?.revoke(made?.id ?? "", now);
  expect(await there?.verify(made?.token ?? "", at(now))).toBeUndefined();
});

for (const row of [
  { text: "human:alice", principal: { kind: "human", userId: "alice" } },
  { text: "agent:assistant", principal: { kind: "agent", agentId: "assistant" } },
  { text: "group:family", principal: { kind: "group", conversationId: "family" } },
  { text: "service:calendar", principal: { kind: "service", serviceId: "calendar" } },
  { text: "human:urn:a:b", principal: { kind: "human", userId: "urn:a:b" } },
  { text: "robot:x", principal: undefined },
  { text: "constructor:x", principal: undefined },
  { text: "__proto__:x", principal: undefined },
  { text: "human:", principal: undefined },
  { text: "human: ", principal: undefined },
  { text: "human", principal: undefined },
  { text: ":alice", principal: undefined },
  { text: "Human:alice", principal: undefined },
  { text: `human:${"x".repeat(257)}`, principal: undefined },
  { text: "", principal: undefined },
]) {
  test(`${JSON.stringify(row.text.slice(0, 20))} is ${row.principal === undefined ? "no principal" : "a principal"}`, () => {
    expect(parsePrincipal(row.text)).toEqual(row.principal);
  });
}

function sha256(secret: string): string {
  return createHash("sha256").update(secret).digest("hex");
}
