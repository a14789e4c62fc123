import { describe, expect, onTestFinished, test, vi } from "vitest";
import { createReplayStore } from "./replay-store.ts";
import { ServiceHttpError } from "turnpike/http";
import { databaseKinds, newLocation, newTenant, openHost, sharedDatabase } from "../../test/databases.ts";
import { openCutProxy } from "../../test/cut-proxy.ts";
import { patience } from "../../test/host-calls.ts";
import { countingApi, envelope } from "../../test/counting-api.ts";
import { failingAt } from "../../test/watched-database.ts";
import { auditEvent, context } from "../../test/records.ts";
import { replayStoreOf } from "../../test/single-stores.ts";
import type { Database } from "../storage/database.ts";
import { entryOf } from "./chain.ts";
import { openLedger, type Ledger } from "./ledger.ts";
import { protectFromReplay } from "./replay-api.ts";

/** The results that are stored of a tenant's effects; null for one that has none. */
async function resultsOf({ db }: Database, namespaceId: string): Promise<(string | null)[]> {
  const rows = await db.selectFrom("replay").select("result").where("namespace_id", "=", namespaceId).execute();
  return rows.map(({ result }) => result);
}

describe.each(databaseKinds)("replay protection on a %s that fails", (kind) => {
  const open = sharedDatabase(kind);

  test("runs nothing when the id cannot be claimed, and says so", async () => {
    const database = await open();
    const { api, effects } = countingApi();
    const broken = protectFromReplay(api, {
      store: replayStoreOf(failingAt(database, 1, "before", { of: kind === "sqlite" ? "insert into replay" : "with" })),
    });
    const who = context({ namespaceId: newTenant() });
    await expect(broken.sendMessage(who, envelope)).rejects.toMatchObject({
      status: 503,
      code: "replay_unavailable",
      message: "The replay store did not answer; nothing ran.",
      cause: expect.objectContaining({ message: expect.stringContaining("injected") as string }) as unknown,
    });
    expect(effects).toEqual([]);
    expect(await broken.sendMessage(who, envelope)).toMatchObject({ status: "accepted" });
  });

  test("runs nothing when the answer to the claim is lost, and takes the claim back: the id is free", async () => {
    const database = await open();
    const { api, effects } = countingApi();
    const broken = protectFromReplay(api, {
      store: replayStoreOf(failingAt(database, 1, "after", { of: "commit" })),
    });
    const who = context({ namespaceId: newTenant() });
    await expect(broken.sendMessage(who, envelope)).rejects.toMatchObject({ status: 503, code: "replay_unavailable" });
    expect(effects).toEqual([]);
    expect(await broken.sendMessage(who, envelope)).toMatchObject({ status: "accepted" });
    expect(effects).toHaveLength(1);
  });

  test("takes no claim back beyond the bound on lost claims: the id counts as interrupted, and nothing runs under it", async () => {
    const database = await open();
    const { api, effects } = countingApi();
    const store = replayStoreOf(failingAt(database, 1, "after", { of: "commit" }), { maxLostClaims: 0 });
    const broken = protectFromReplay(api, { store });
    const who = context({ namespaceId: newTenant() });
    await expect(broken.sendMessage(who, envelope)).rejects.toMatchObject({ status: 503, code: "replay_unavailable" });
    await expect(broken.sendMessage(who, envelope)).rejects.toMatchObject({ code: "replay_interrupted" });
    expect(effects).toEqual([]);
  });

  for (const when of ["before", "after"] as const) {
    test(`gives a result that cannot be stored (${when} it is written), repeats it from memory, and stores it later`, async () => {
      const { api, effects } = countingApi();
      const told: unknown[] = [];
      const replayed: string[] = [];
      const database = await open();
      const broken = protectFromReplay(api, {
        store: replayStoreOf(failingAt(database, 2, when, { of: "commit" })),
        onStoreError: (error, { id }) => told.push([String(error), id]),
        onReplay: ({ id }) => replayed.push(id),
      });
      const who = context({ namespaceId: newTenant() });
      const first = await broken.sendMessage(who, envelope);
      expect(first).toMatchObject({ status: "accepted" });
      expect(told).toEqual([[expect.stringContaining("injected"), "id-1"]]);
      expect(await broken.sendMessage(who, envelope)).toEqual(first);
      await expect(broken.sendMessage(who, { ...envelope, payload: "bye" })).rejects.toMatchObject({
        code: "replay_conflict",
      });
      expect(replayed).toEqual(["id-1"]);
      await vi.waitFor(
        () => expect(resultsOf(database, who.namespaceId)).resolves.toEqual([JSON.stringify(first)]),
        patience,
      );
      expect(await broken.sendMessage(who, envelope)).toEqual(first);
      expect(effects).toHaveLength(1);
    });
  }

  for (const when of ["before", "after"] as const) {
    test(`stores the last event of a call once, when its end could not be stored at once (${when} it is written)`, async () => {
      const database = await open();
      const store = replayStoreOf(failingAt(database, 2, when, { of: "commit" }));
      const namespaceId = newTenant();
      const key = { namespaceId, actor: "agent:a", kind: "tool", scope: "", id: "id-1" } as const;
      expect(await store.begin(key, "one")).toEqual({ kind: "new" });
      const outcome = entryOf(auditEvent("outcome", { namespaceId }));
      await expect(store.finish(key, { status: "succeeded" }, "write", [outcome])).rejects.toThrow("injected");
      await store.close();
      const events = database.db.selectFrom("audit").select("id").where("namespace_id", "=", namespaceId);
      expect(await events.execute()).toEqual([{ id: "outcome" }]);
      expect(await store.begin(key, "one")).toEqual({ kind: "finished", result: { status: "succeeded" } });
    });
  }

  for (const when of ["before", "after"] as const) {
    test(`stores the last event of a call once, when its id could not be freed at once (${when} it is written)`, async () => {
      const database = await open();
      const store = replayStoreOf(failingAt(database, 2, when, { of: "commit" }));
      const namespaceId = newTenant();
      const key = { namespaceId, actor: "agent:a", kind: "tool", scope: "", id: "id-1" } as const;
      expect(await store.begin(key, "one")).toEqual({ kind: "new" });
      const outcome = entryOf(auditEvent("outcome", { namespaceId }));
      await expect(store.release(key, [outcome])).rejects.toThrow("injected");
      await store.close();
      const events = database.db.selectFrom("audit").select("id").where("namespace_id", "=", namespaceId);
      expect(await events.execute()).toEqual([{ id: "outcome" }]);
      expect(await store.begin(key, "one")).toEqual({ kind: "new" });
    });
  }

  test("stores the last event of a call once, when its end was stored unanswered and others are still running", async () => {
    const database = await open();
    const store = replayStoreOf(failingAt(database, 3, "after", { of: "commit" }));
    const namespaceId = newTenant();
    const key = { namespaceId, actor: "agent:a", kind: "tool", scope: "", id: "id-1" } as const;
    await store.begin(key, "one");
    await store.begin({ ...key, id: "id-2" }, "one");
    const outcome = entryOf(auditEvent("outcome", { namespaceId }));
    await expect(store.finish(key, { status: "succeeded" }, "write", [outcome])).rejects.toThrow("injected");
    await store.close();
    const events = database.db.selectFrom("audit").select("id").where("namespace_id", "=", namespaceId);
    expect(await events.execute()).toEqual([{ id: "outcome" }]);
  });

  test("frees an id later when that could not be written at once", async () => {
    // Later is when this test says so.
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const database = await open();
    const refusing = () => Promise.reject(new ServiceHttpError(503, "overloaded", "Full."));
    const { api } = countingApi(refusing);
    const store = replayStoreOf(failingAt(database, 2, "before", { of: "commit" }));
    const who = context({ namespaceId: newTenant() });
    await expect(protectFromReplay(api, { store }).sendMessage(who, envelope)).rejects.toThrow("Full.");
    expect(await resultsOf(database, who.namespaceId)).toEqual([null]);
    await vi.waitFor(() => expect(resultsOf(database, who.namespaceId)).resolves.toEqual([]), patience);
  });

  test("frees an id before it is claimed again, when that could not be written at once", async () => {
    let isFull = true;
    const { api, effects } = countingApi(() =>
      isFull ? Promise.reject(new ServiceHttpError(503, "overloaded", "Full.")) : Promise.resolve(),
    );
    const broken = protectFromReplay(api, {
      store: replayStoreOf(failingAt(await open(), 2, "before", { of: "commit" })),
    });
    const who = context({ namespaceId: newTenant() });
    await expect(broken.sendMessage(who, envelope)).rejects.toThrow("Full.");
    isFull = false;
    expect(await broken.sendMessage(who, { ...envelope, payload: "other" })).toMatchObject({ status: "accepted" });
    expect(effects).toHaveLength(2);
  });

  test("never runs again what threw when that could not be written at once", async () => {
    let isBroken = true;
    const { api, effects } = countingApi(() => (isBroken ? Promise.reject(new Error("a bug")) : Promise.resolve()));
    const broken = protectFromReplay(api, {
      store: replayStoreOf(failingAt(await open(), 2, "before", { of: "commit" })),
    });
    const who = context({ namespaceId: newTenant() });
    await expect(broken.sendMessage(who, envelope)).rejects.toThrow("a bug");
    isBroken = false;
    await expect(broken.sendMessage(who, envelope)).rejects.toMatchObject({ code: "replay_interrupted" });
    expect(effects).toHaveLength(1);
  });

  test("tries a last time when it is closed", async () => {
    const database = await open();
    const store = replayStoreOf(failingAt(database, 2, "before", { of: "commit" }));
    const who = context({ namespaceId: newTenant() });
    const first = await protectFromReplay(countingApi().api, { store }).sendMessage(who, envelope);
    await store.close();
    expect(await resultsOf(database, who.namespaceId)).toEqual([JSON.stringify(first)]);
  });

  test("holds no more results in memory than it may: one beyond them is interrupted", async () => {
    const { api, effects } = countingApi();
    const store = replayStoreOf(failingAt(await open(), 2, "before", { of: "commit" }), { maxWaitingLength: 20 });
    const broken = protectFromReplay(api, { store });
    const who = context({ namespaceId: newTenant() });
    expect(await broken.sendMessage(who, envelope)).toMatchObject({ status: "accepted" });
    await expect(broken.sendMessage(who, envelope)).rejects.toMatchObject({ code: "replay_interrupted" });
    expect(effects).toHaveLength(1);
  });

  test("counts all results that wait together: the one that would be too much is interrupted", async () => {
    const away = new Error("The database is away.");
    let isAway = false;
    const ledger = openLedger(await open());
    const submit: Ledger["submit"] = (submission) => (isAway ? Promise.reject(away) : ledger.submit(submission));
    const store = createReplayStore(await open(), { ...ledger, submit }, { maxWaitingLength: 20 });
    const namespaceId = newTenant();
    const keys = ["id-1", "id-2", "id-3"].map((id) => {
      return { namespaceId, actor: "agent:a", kind: "tool", scope: "", id } as const;
    });
    for (const key of keys) await store.begin(key, "one");
    isAway = true;
    const results = ["twelve long", "twelve long", "short"];
    for (const [place, key] of keys.entries()) await expect(store.finish(key, results[place])).rejects.toBe(away);
    // Where hosts share the database, nothing is told that is not stored.
    const told = await Promise.allSettled(keys.map((key) => store.begin(key, "one")));
    expect(told.map(({ status }) => status)).toEqual(keys.map(() => (kind === "postgres" ? "rejected" : "fulfilled")));
    isAway = kind === "sqlite";
    expect(await Promise.all(keys.map((key) => store.begin(key, "one")))).toEqual([
      { kind: "finished", result: "twelve long" },
      { kind: "interrupted" },
      { kind: "finished", result: "short" },
    ]);
  });

  test("interrupts an id whose result is too large, also when that could not be written at once", async () => {
    const store = replayStoreOf(failingAt(await open(), 2, "before", { of: "commit" }));
    const key = { namespaceId: newTenant(), actor: "agent:a", kind: "tool", scope: "", id: "id-1" } as const;
    await store.begin(key, "one");
    await expect(store.finish(key, "x".repeat(262_144))).rejects.toThrow("injected");
    expect(await store.begin(key, "one")).toEqual({ kind: "interrupted" });
    await store.close();
    expect(await store.begin(key, "one")).toEqual({ kind: "interrupted" });
  });

  test("an effect whose host died is interrupted, and is never run by itself", async () => {
    const location = await newLocation(kind);
    const dying = await openHost(location);
    const { api, effects } = countingApi(async () => {
      await dying.close();
    });
    await protectFromReplay(api, { store: replayStoreOf(dying), onStoreError: () => {} })
      .sendMessage(context(), envelope)
      .catch(() => {});
    const next = protectFromReplay(api, { store: replayStoreOf(await openHost(location)) });
    for (let attempt = 0; attempt < 3; attempt += 1) {
      await expect(next.sendMessage(context(), envelope)).rejects.toMatchObject({
        status: 409,
        code: "replay_interrupted",
        message: "The same request ended without a recorded result; its effect may have happened.",
      });
    }
    await expect(next.sendMessage(context(), { ...envelope, payload: "bye" })).rejects.toMatchObject({
      code: "replay_conflict",
    });
    expect(effects).toEqual(["message id-1"]);
  });
});

describe("replay protection on a PostgreSQL that goes away", () => {
  /** A host that runs twenty calls while its database is cut off, and one that sees the database all the time. */
  const cutOff = async (isPresent: () => boolean, isAlive?: Database["isAlive"]) => {
    const location = await newLocation("postgres");
    const proxy = await openCutProxy(location);
    const [here, there] = [await openHost(proxy.location), await openHost(location)];
    let endAll = (): void => {};
    const allRun = new Promise<void>((resolve) => (endAll = resolve));
    const { api, effects } = countingApi(() => allRun);
    const mine = protectFromReplay(api, { store: replayStoreOf({ ...here, strand: here.strand, isPresent }) });
    const other: Database = { ...there, strand: there.strand, ...(isAlive && { isAlive }) };
    const theirs = protectFromReplay(api, { store: replayStoreOf(other) });
    const envelopes = Array.from({ length: 20 }, (_, n) => ({ ...envelope, id: `id-${n}` }));
    const asked = envelopes.map((each) => mine.sendMessage(context(), each));
    await vi.waitFor(() => expect(effects).toHaveLength(20), patience);
    proxy.cut();
    return { proxy, mine, theirs, envelopes, asked, effects, endAll };
  };

  test("tells results once they are stored: both hosts repeat them, and none runs twice", async () => {
    const { proxy, mine, theirs, envelopes, asked, effects, endAll } = await cutOff(() => true);
    endAll();
    await expect(mine.sendMessage(context(), { ...envelope, id: "new" })).rejects.toMatchObject({
      code: "replay_unavailable",
    });
    proxy.mend();
    const first = await Promise.all(asked);
    expect(first.map(({ status }) => status)).toEqual(envelopes.map(() => "accepted"));
    for (const api of [mine, theirs])
      expect(await Promise.all(envelopes.map((each) => api.sendMessage(context(), each)))).toEqual(first);
    expect(effects).toHaveLength(20);
  });

  test("tells no result when others may hold the host for dead, and never one that others said was interrupted", async () => {
    const isAlive = () => Promise.resolve(false);
    const { proxy, mine, theirs, envelopes, asked, effects, endAll } = await cutOff(() => false, isAlive);
    endAll();
    const interrupted = { status: 409, code: "replay_interrupted" };
    for (const each of asked) await expect(each).rejects.toMatchObject(interrupted);
    for (const each of envelopes) await expect(theirs.sendMessage(context(), each)).rejects.toMatchObject(interrupted);
    proxy.mend();
    for (const each of envelopes)
      await vi.waitFor(() => expect(mine.sendMessage(context(), each)).rejects.toMatchObject(interrupted), patience);
    expect(effects).toHaveLength(20);
  });

  test("a host that is away with the server is not taken for dead when another one is back first", async () => {
    const location = await newLocation("postgres");
    const [first, second] = [await openCutProxy(location), await openCutProxy(location)];
    const [slow, quick] = [await openHost(first.location), await openHost(second.location)];
    const key = { namespaceId: "tenant-1", actor: "agent:a", kind: "tool", scope: "", id: "id-1" } as const;
    await replayStoreOf(slow).begin(key, "one");
    for (const proxy of [first, second]) proxy.cut();
    await expect(quick.isAlive(slow.hostId)).rejects.toThrow(Error);
    second.mend();
    await vi.waitFor(() => quick.isAlive(slow.hostId), patience);
    expect(await replayStoreOf(quick).begin(key, "one")).toEqual({ kind: "running" });
  });
});
