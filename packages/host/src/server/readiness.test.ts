import { sql } from "kysely";
import { expect, onTestFinished, test, vi } from "vitest";
import { databaseKinds, openFresh } from "../../../../tests/support/databases.ts";
import { isOutage } from "../database/outage.ts";
import { createReadiness, heartbeat } from "./readiness.ts";

/** A check whose time stands still, and its writes, which wait to be ended. */
function world() {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance"] });
  onTestFinished(() => void vi.useRealTimers());
  const writes: { resolve(): void; reject(error: Error): void }[] = [];
  const check = createReadiness(() => new Promise((resolve, reject) => void writes.push({ resolve, reject })));
  return { check, writes, pass: (ms: number) => vi.advanceTimersByTimeAsync(ms) };
}

/** How a check ended in the time that passed: why it failed, or that it did not end. */
async function during(check: Promise<void>, time: Promise<unknown>): Promise<string> {
  let ended = "not answered";
  void check.then(
    () => (ended = "ready"),
    (error: Error) => (ended = error.message),
  );
  await time;
  return ended;
}

const late = "The database did not take a write in time.";

test("a write that is taken is ready, and one that fails is not", async () => {
  const { check, writes, pass } = world();
  const good = check();
  writes[0]?.resolve();
  await good;
  await pass(500);
  const bad = check();
  writes[1]?.reject(new Error("full"));
  await expect(bad).rejects.toThrow("full");
});

test("a write that hangs is answered within two seconds, then at once, and is not followed by another one", async () => {
  const { check, writes, pass } = world();
  expect(await during(check(), pass(2000))).toBe(late);
  expect(await during(check(), pass(0))).toBe(late);
  await pass(600_000);
  expect(await during(check(), pass(0))).toBe(late);
  expect(writes).toHaveLength(1);
});

test("once the write that hung is through, the host is ready again", async () => {
  const { check, writes, pass } = world();
  expect(await during(check(), pass(2000))).toBe(late);
  writes[0]?.resolve();
  await pass(0);
  await check();
  expect(writes).toHaveLength(1);
});

for (const outcome of ["taken", "refused"] as const) {
  test(`whoever asks at the same time, or just after, shares one write that was ${outcome}`, async () => {
    const { check, writes, pass } = world();
    const asked = Promise.allSettled([check(), check(), check()]);
    if (outcome === "taken") writes[0]?.resolve();
    else writes[0]?.reject(new Error("full"));
    await asked;
    await pass(499);
    const status = outcome === "taken" ? "fulfilled" : "rejected";
    expect((await Promise.allSettled([asked, check()]))[1]).toMatchObject({ status });
    expect(writes).toHaveLength(1);
    await pass(1);
    void check().catch(() => {});
    expect(writes).toHaveLength(2);
  });
}

for (const kind of databaseKinds) {
  test(`the write is made durable on ${kind} and leaves nothing behind`, async () => {
    const database = await openFresh(kind);
    for (let beat = 0; beat < 3; beat += 1) await heartbeat(database);
    expect(await database.db.selectFrom("heartbeats").selectAll().execute()).toEqual([]);
  });
}

test("the write is refused while the disk is full, and taken again once it is not", async () => {
  const database = await openFresh("sqlite");
  const { db } = database;
  await sql`pragma max_page_count = 1`.execute(db);
  let isFull = false;
  for (let row = 0; !isFull; row += 1) {
    const large = { namespace_id: `tenant-${row}`, owner: "x".repeat(3000) };
    isFull = await db
      .insertInto("owners")
      .values(large)
      .execute()
      .then(
        () => false,
        () => true,
      );
  }
  await expect(heartbeat(database)).rejects.toSatisfy(isOutage);
  await sql`pragma max_page_count = 1000000`.execute(db);
  await heartbeat(database);
});
