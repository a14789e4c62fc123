import { existsSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { openFresh, temporaryFolder } from "../../test/databases.ts";
import { access } from "../../test/records.ts";
import { loadConfig } from "../compose/config.ts";
import { openStores } from "../compose/stores.ts";
import { adminTokenFile } from "../shared/data-folder.ts";
import { ensureAdminToken, type OperatorToken } from "./admin-token.ts";

async function firstStart() {
  const stores = openStores(await openFresh("sqlite"));
  const config = loadConfig({ env: {}, flags: { database: join(temporaryFolder(), "turnpike.db") } });
  await ensureAdminToken(stores, config);
  const file = adminTokenFile(config.database);
  return { stores, config, file, read: () => readFileSync(file, "utf8").trim() };
}

test("the first start makes an operator's credential for its owner's eyes, and says so in the audit log", async () => {
  const { stores, file, read } = await firstStart();
  const credential = await stores.credentials.verify(read(), new Date());
  expect(credential).toMatchObject({ namespaceId: "operators", access: { admin: true } });
  expect(statSync(file).mode & 0o777).toBe(0o600);
  const rows = await stores.audit.list("operators", { limit: 10 });
  expect(rows.map(({ event }) => [event.outcome, event.action, event.actor, event.metadata])).toEqual(
    ["succeeded", "allowed"].map((outcome) => [
      outcome,
      "credential.create",
      { kind: "service", serviceId: "host" },
      { credential: credential?.id, isOperator: true, operator: "host" },
    ]),
  );
  expect(JSON.stringify(rows)).not.toContain(read());
});

test("a later start reuses the token, and makes nothing", async () => {
  const { stores, config, read } = await firstStart();
  const before = read();
  await ensureAdminToken(stores, config);
  expect(read()).toBe(before);
  expect(await stores.audit.list("operators", { limit: 10 })).toHaveLength(2);
});

test("a stored token that is an agent's is not taken for an operator's", async () => {
  const { stores, config, file, read } = await firstStart();
  const { token } = await stores.credentials.create({ namespaceId: "acme", access });
  writeFileSync(file, token);
  await ensureAdminToken(stores, config);
  expect(await stores.credentials.verify(read(), new Date())).toMatchObject({ access: { admin: true } });
});

for (const limits of [{ role: "auditor" }, { role: "reviewer" }, { tenant: "acme" }] as const) {
  test(`a stored token of an operator with ${JSON.stringify(limits)} is not taken for that of an admin of all tenants`, async () => {
    const { stores, config, file, read } = await firstStart();
    const before = read();
    const theirs = { ...access, admin: true, ...limits };
    const { token } = await stores.credentials.create({ namespaceId: "operators", access: theirs });
    writeFileSync(file, token);
    await ensureAdminToken(stores, config);
    expect([token, before]).not.toContain(read());
    const { access: stored } = (await stores.credentials.verify(read(), new Date())) ?? {};
    expect([stored?.admin, stored?.role, stored?.tenant]).toEqual([true, undefined, undefined]);
  });
}

test("a new token that is wanted replaces the host's own, and leaves the operators theirs", async () => {
  const { stores, config, file, read } = await firstStart();
  const before = read();
  const { id: credential } = (await stores.credentials.verify(before, new Date())) ?? {};
  const carol = { kind: "human", userId: "carol" } as const;
  const theirs = { actor: carol, owner: carol, purposes: ["operate"], admin: true };
  const { token } = await stores.credentials.create({ namespaceId: "operators", access: theirs });
  expect(await ensureAdminToken(stores, config, { isNewWanted: true })).toEqual({ kind: "in file", file });
  expect(await stores.credentials.verify(before, new Date())).toBeUndefined();
  expect(await stores.credentials.verify(read(), new Date())).toMatchObject({ access: { admin: true } });
  expect(await stores.credentials.verify(token, new Date())).toMatchObject({ access: { actor: carol } });
  const [revoked] = await stores.audit.list("operators", { limit: 1 });
  expect(revoked?.event).toMatchObject({
    action: "credential.revoke",
    outcome: "succeeded",
    metadata: { credential },
  });
});

describe("without a token file", () => {
  const withoutFile = { "admin.tokenFile": "false" };

  /** What a start has to show, which is a token. */
  async function shownAt(start: Promise<OperatorToken>): Promise<string> {
    const shown = await start;
    if (shown.kind !== "shown once") throw new Error(`No token is shown: ${shown.kind}`);
    return shown.token;
  }

  /** A store that no host has started on. */
  async function fresh() {
    const stores = openStores(await openFresh("sqlite"));
    const folder = join(temporaryFolder(), "data");
    const config = loadConfig({ env: {}, flags: { database: join(folder, "turnpike.db"), ...withoutFile } });
    return { stores, config, folder };
  }

  test("the first start shows the token, and nothing of it is on the disk or in the audit log", async () => {
    const { stores, config, folder } = await fresh();
    const token = await shownAt(ensureAdminToken(stores, config));
    expect(await stores.credentials.verify(token, new Date())).toMatchObject({ access: { admin: true } });
    expect(existsSync(folder)).toBe(false);
    expect(JSON.stringify(await stores.audit.list("operators", { limit: 10 }))).not.toContain(token);
  });

  test("a later start makes nothing and shows nothing", async () => {
    const { stores, config } = await fresh();
    const token = await shownAt(ensureAdminToken(stores, config));
    expect(await ensureAdminToken(stores, config)).toEqual({ kind: "shown before" });
    expect(await stores.credentials.list({ limit: 10 })).toHaveLength(1);
    expect(await stores.credentials.verify(token, new Date())).toBeDefined();
  });

  test("a new one can be had, and the old one ends", async () => {
    const { stores, config } = await fresh();
    const before = await shownAt(ensureAdminToken(stores, config));
    const token = await shownAt(ensureAdminToken(stores, config, { isNewWanted: true }));
    expect(await stores.credentials.verify(before, new Date())).toBeUndefined();
    expect(await stores.credentials.verify(token, new Date())).toMatchObject({ access: { admin: true } });
    const done = (await stores.audit.list("operators", { limit: 10 })).filter(
      ({ event }) => event.outcome === "succeeded",
    );
    expect(done.map(({ event }) => event.action)).toEqual([
      "credential.revoke",
      "credential.create",
      "credential.create",
    ]);
  });

  test("a start after the last operator's credential was revoked makes and shows one", async () => {
    const { stores, config } = await fresh();
    await ensureAdminToken(stores, config);
    const [only] = await stores.credentials.list({ limit: 10 });
    await stores.credentials.revoke(only?.id ?? "", new Date().toISOString());
    expect(await stores.credentials.verify(await shownAt(ensureAdminToken(stores, config)), new Date())).toBeDefined();
  });

  test("a start that finds operators, but no admin of all tenants, makes and shows one", async () => {
    const { stores, config } = await fresh();
    await ensureAdminToken(stores, config);
    const [only] = await stores.credentials.list({ limit: 10 });
    for (const limits of [{ role: "auditor" }, { tenant: "acme" }] as const)
      await stores.credentials.create({ namespaceId: "operators", access: { ...access, admin: true, ...limits } });
    await stores.credentials.revoke(only?.id ?? "", new Date().toISOString());
    expect(await stores.credentials.verify(await shownAt(ensureAdminToken(stores, config)), new Date())).toBeDefined();
  });

  test("a token that is in a file from before is revoked, and the file goes", async () => {
    const { stores, config, file, read } = await firstStart();
    const before = read();
    const changed = { ...config, admin: { tokenFile: false } };
    expect(await ensureAdminToken(stores, changed)).toMatchObject({ kind: "shown once", removedFile: file });
    expect(existsSync(file)).toBe(false);
    expect(await stores.credentials.verify(before, new Date())).toBeUndefined();
    expect(await ensureAdminToken(stores, changed)).toEqual({ kind: "shown before" });
  });

  test("the file of another database in the same folder stays as it is, and nothing is said about it", async () => {
    const other = await firstStart();
    const before = other.read();
    const stores = openStores(await openFresh("sqlite"));
    const config = { ...other.config, admin: { tokenFile: false } };
    const token = await shownAt(ensureAdminToken(stores, config));
    expect(await ensureAdminToken(stores, config)).toEqual({ kind: "shown before" });
    const again = await ensureAdminToken(stores, config, { isNewWanted: true });
    expect(again).toEqual({ kind: "shown once", token: expect.not.stringMatching(token) });
    expect(other.read()).toBe(before);
    expect(await other.stores.credentials.verify(before, new Date())).toMatchObject({ access: { admin: true } });
  });

  test("a token of an agent in the file is not an operator's to revoke, so that the file stays", async () => {
    const { stores, config, file, read } = await firstStart();
    const { token } = await stores.credentials.create({ namespaceId: "acme", access });
    writeFileSync(file, token);
    const changed = { ...config, admin: { tokenFile: false } };
    expect(await ensureAdminToken(stores, changed)).toEqual({ kind: "shown before" });
    expect(read()).toBe(token);
    expect(await stores.credentials.verify(token, new Date())).toBeDefined();
  });

  test("a token in the file that an operator made is revoked with it when a new one is wanted", async () => {
    const { stores, config, file } = await firstStart();
    const carol = { kind: "human", userId: "carol" } as const;
    const theirs = { actor: carol, owner: carol, purposes: ["operate"], admin: true };
    const { token } = await stores.credentials.create({ namespaceId: "operators", access: theirs });
    writeFileSync(file, token);
    const start = ensureAdminToken(stores, { ...config, admin: { tokenFile: false } }, { isNewWanted: true });
    expect(await start).toMatchObject({ kind: "shown once", removedFile: file });
    expect(await stores.credentials.verify(token, new Date())).toBeUndefined();
  });
});
