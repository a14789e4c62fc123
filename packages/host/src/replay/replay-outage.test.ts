import { describe, expect, test } from "vitest";
import {
  databaseKinds,
  newLocation,
  newTenant,
  openHost,
  sharedDatabase,
} from "../../../../tests/support/databases.ts";
import { countingApi, envelope } from "../../../../tests/support/host/counting-api.ts";
import { failingAt } from "../../../../tests/support/host/watched-database.ts";
import { context } from "../../../../tests/support/host/world.ts";
import { createReplayStore } from "../stores/replay-store.ts";
import { protectFromReplay } from "./replay-api.ts";

describe.each(databaseKinds)("replay protection on a %s that fails", (kind) => {
  const open = sharedDatabase(kind);

  test("runs nothing when the id cannot be claimed, and says so", async () => {
    const database = await open();
    const { api, effects } = countingApi();
    const broken = protectFromReplay(api, { store: createReplayStore(failingAt(database, 1, "before")) });
    const who = context({ namespaceId: newTenant() });
    await expect(broken.sendMessage(who, envelope)).rejects.toMatchObject({
      status: 503,
      code: "replay_unavailable",
      message: "The replay store did not answer; nothing ran.",
    });
    expect(effects).toEqual([]);
    expect(await broken.sendMessage(who, envelope)).toMatchObject({ status: "accepted" });
  });

  test("runs nothing when the answer to the claim is lost, and may run it later", async () => {
    const database = await open();
    const { api, effects } = countingApi();
    const broken = protectFromReplay(api, { store: createReplayStore(failingAt(database, 1, "after")) });
    const who = context({ namespaceId: newTenant() });
    await expect(broken.sendMessage(who, envelope)).rejects.toMatchObject({ status: 503, code: "replay_unavailable" });
    expect(effects).toEqual([]);
    await broken.sendMessage(who, envelope).catch(() => {});
    expect(effects.length).toBeLessThanOrEqual(1);
  });

  test("gives the result when it cannot be kept, tells the operator, and never runs the effect again", async () => {
    const { api, effects } = countingApi();
    const told: unknown[] = [];
    const store = createReplayStore(failingAt(await open(), 2, "before"));
    const broken = protectFromReplay(api, { store, onStoreError: (error, { id }) => told.push([String(error), id]) });
    const who = context({ namespaceId: newTenant() });
    expect(await broken.sendMessage(who, envelope)).toMatchObject({ status: "accepted" });
    expect(told).toEqual([[expect.stringContaining("injected"), "id-1"]]);
    await expect(broken.sendMessage(who, envelope)).rejects.toMatchObject({ status: 409, code: "replay_interrupted" });
    expect(effects).toHaveLength(1);
  });

  test("an effect whose host died is interrupted, and is never run by itself", async () => {
    const location = await newLocation(kind);
    const dying = await openHost(location);
    const { api, effects } = countingApi(async () => {
      await dying.close();
    });
    await protectFromReplay(api, { store: createReplayStore(dying), onStoreError: () => {} })
      .sendMessage(context(), envelope)
      .catch(() => {});
    const next = protectFromReplay(api, { store: createReplayStore(await openHost(location)) });
    for (let attempt = 0; attempt < 3; attempt += 1) {
      await expect(next.sendMessage(context(), envelope)).rejects.toMatchObject({
        status: 409,
        code: "replay_interrupted",
        message: "The same request ended without a result that is kept; its effect may have happened.",
      });
    }
    await expect(next.sendMessage(context(), { ...envelope, payload: "bye" })).rejects.toMatchObject({
      code: "replay_conflict",
    });
    expect(effects).toEqual(["message id-1"]);
  });
});
