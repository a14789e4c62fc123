import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { openFresh, temporaryFolder } from "../../../../tests/support/databases.ts";
import { access } from "../../../../tests/support/host/world.ts";
import { loadConfig } from "../config.ts";
import { openStores } from "../stores/stores.ts";
import { adminTokenFile, ensureAdminToken } from "./admin-token.ts";

async function firstStart() {
  const stores = openStores(await openFresh("sqlite"));
  const config = loadConfig({ env: {}, flags: { database: join(temporaryFolder(), "turnpike.db") } });
  await ensureAdminToken(stores, config);
  const file = adminTokenFile(config);
  return { stores, config, file, read: () => readFileSync(file, "utf8").trim() };
}

test("the first start makes an operator's credential for its owner's eyes, and says so on the trail", async () => {
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

test("a later start keeps the token, and makes nothing", async () => {
  const { stores, config, read } = await firstStart();
  const before = read();
  await ensureAdminToken(stores, config);
  expect(read()).toBe(before);
  expect(await stores.audit.list("operators", { limit: 10 })).toHaveLength(2);
});

test("a kept token that is an agent's is not taken for an operator's", async () => {
  const { stores, config, file, read } = await firstStart();
  const { token } = await stores.credentials.create({ namespaceId: "acme", access });
  writeFileSync(file, token);
  await ensureAdminToken(stores, config);
  expect(await stores.credentials.verify(read(), new Date())).toMatchObject({ access: { admin: true } });
});
