import { expect, test } from "vitest";
import { ServiceHttpError } from "turnpike/http";
import { databaseKinds, openFresh, openPair } from "../../test/databases.ts";
import { createRevisions, storeGap, type Database } from "../storage/index.ts";
import { createLossStore, type LossStore } from "./loss-store.ts";
import { refuseOnLoss } from "./refuse-on-loss.ts";

const chain = { namespaceId: "acme", strand: 0, sequence: 9, hash: "a".repeat(64), now: 4 };
const gap = { id: "gap-1", at: "2026-01-01T00:00:00.000Z", chains: [chain] };
const acceptedAt = "2026-01-01T01:00:00.000Z";

function lossesOf(database: Database): LossStore {
  return createLossStore(database, createRevisions(database));
}

for (const kind of databaseKinds)
  test(`a loss on ${kind} counts until an operator accepts it, and every credential is revoked on request alone`, async () => {
    const database = await openFresh(kind);
    const losses = lossesOf(database);
    const credential = { secret_hash: "x", access: "{}", actor: "agent:a", created_at: gap.at };
    await database.db
      .insertInto("credentials")
      .values({
        id: "credential-1",
        namespace_id: "acme",
        ...credential,
        certificate: null,
        expires_at: null,
        revoked_at: null,
      })
      .execute();
    await storeGap(database.db, gap, database.hostId);
    database.history.told(true, 0);
    expect(await losses.listOpen()).toEqual([gap]);
    await expect(losses.checkWhole()).rejects.toThrow("The database went back");
    expect(await losses.listAccepted([gap.id])).toEqual([]);
    expect(await losses.accept(acceptedAt, false)).toEqual({ revokedCredentials: 0 });
    expect([await losses.listOpen(), await losses.listAccepted([gap.id, "unknown"])]).toEqual([[], [gap.id]]);
    await losses.checkWhole();
    expect(await losses.accept(acceptedAt, true)).toEqual({ revokedCredentials: 1 });
  });

test("a loss that one host noticed counts on every host with its next call, and so does that it was accepted", async () => {
  const [here, there] = await openPair();
  const [losses, revisions] = [lossesOf(here), createRevisions(there)];
  const others = createLossStore(there, revisions);
  await revisions.current();
  expect(there.history.isBehind).toBe(false);
  await storeGap(here.db, gap, here.hostId);
  await revisions.current();
  expect(there.history.isBehind).toBe(true);
  await expect(others.requireWhole()).rejects.toThrow("The database went back");
  await losses.accept(acceptedAt, false);
  // A call that is refused reads nothing else.
  await others.requireWhole();
  expect(there.history.isBehind).toBe(false);
});

test("what was read before a loss was stored does not hide it", async () => {
  const { history, db } = await openFresh("sqlite");
  history.told(true, 0);
  await history.remember([chain], history.era);
  await history.compare();
  history.told(false, 0);
  expect([history.stored, history.isBehind]).toEqual([1, true]);
  expect(await db.selectFrom("database_gaps").select("host_id").execute()).toHaveLength(1);
  history.told(false, 1);
  expect(history.isBehind).toBe(false);
});

test("calls that take an id, and turns, are refused while there is a loss, and no other", async () => {
  const database = await openFresh("sqlite");
  const ran: string[] = [];
  const run = (name: string) => () => Promise.resolve(void ran.push(name));
  const names = ["authorize", "invokeTool", "invokeResource", "sendMessage", "executeTurn", "reach"];
  const service = Object.fromEntries(names.map((name) => [name, run(name)]));
  const begun = ["invokeTool", "invokeResource", "sendMessage", "executeTurn"] as const;
  const api = refuseOnLoss(service as never, lossesOf(database), begun) as unknown as Record<
    string,
    () => Promise<unknown>
  >;
  const callAll = () => Promise.all(names.map((name) => api[name]?.().catch((error: unknown) => error)));
  database.history.told(true, 0);
  const refused = (await callAll()).filter((answer) => answer instanceof ServiceHttpError);
  expect(refused.map(({ status, code, headers }) => [status, code, headers?.["retry-after"]])).toEqual(
    Array.from({ length: 4 }, () => [503, "database_went_back", "30"]),
  );
  expect(ran).toEqual(["authorize", "reach"]);
  database.history.told(false, 0);
  await callAll();
  expect(ran.slice(2).toSorted()).toEqual(names.toSorted());
});
