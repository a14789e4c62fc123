import { join } from "node:path";
import { expect, test } from "vitest";
import { openFresh, temporaryFolder } from "../../test/databases.ts";
import { openStores } from "../compose/stores.ts";
import { openDemoWorld } from "./demo-world.ts";

const assistant = { kind: "agent", agentId: "assistant" } as const;

test("a demo from before payments gets them, reuses its tokens, and nothing else that was taken away comes back", async () => {
  const database = await openFresh("sqlite");
  const stores = openStores(database);
  const tokenFile = join(temporaryFolder(), "demo-tokens.json");
  const tokens = await openDemoWorld(stores, tokenFile);
  const enabled = async () => [...(await openStores(database).settings.enabled("demo", assistant))].toSorted();
  expect(await enabled()).toEqual(["files", "messages", "payments", "service"]);

  await database.db.deleteFrom("grants").where("id", "=", "assistant-payments").execute();
  await database.db.updateTable("namespace_settings").set({ enabled: '["files"]' }).execute();
  await stores.grants.revoke("demo", "assistant-notes", new Date().toISOString());
  expect(await openDemoWorld(openStores(database), tokenFile)).toEqual(tokens);
  expect(await enabled()).toEqual(["files", "payments"]);
  const { grants } = openStores(database);
  expect((await grants.find("demo", "assistant-payments"))?.capabilities).toMatchObject([{ approval: "each" }]);
  expect(await grants.find("demo", "assistant-notes")).toHaveProperty("revokedAt");

  // One that was there and was revoked is not issued again either.
  await grants.revoke("demo", "assistant-payments", new Date().toISOString());
  await openDemoWorld(openStores(database), tokenFile);
  expect(await openStores(database).grants.find("demo", "assistant-payments")).toHaveProperty("revokedAt");
});
