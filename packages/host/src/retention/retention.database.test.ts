import { describe, expect, test } from "vitest";
import { databaseKinds, openFresh, openPair } from "../../test/databases.ts";
import { recordingLog } from "../../test/recording-log.ts";
import type { Database } from "../storage/index.ts";
import { createRetention, removeOld, retentionLocks } from "./retention.ts";
import { judgeTime } from "./retention-clock.ts";
import type { RetentionKind } from "./retention-kinds.ts";

const dayMs = 86_400_000;

const now = (): Promise<Date> => Promise.resolve(new Date("2026-06-01T00:00:00.000Z"));
const lock = retentionLocks.age;

/** So many rows of a kind, and the steps in which they were removed. */
function manyRows(count: number, meanwhile: () => unknown = () => {}) {
  const steps: { before: string; removed: number }[] = [];
  let left = count;
  const kind: RetentionKind = {
    name: "rows",
    retainMs: 7 * dayMs,
    removeSome: async (before, most) => {
      const removed = Math.min(left, most);
      left -= removed;
      steps.push({ before, removed });
      await meanwhile();
      return removed;
    },
  };
  return { kind, steps };
}

describe.each(databaseKinds)("retention on %s", (kind) => {
  test("removes what is older than its retention, a few hundred rows at a time, until none is left", async () => {
    const database = await openFresh(kind);
    const log = recordingLog();
    const many = manyRows(450);
    await createRetention({ database, tasks: [removeOld(many.kind)], log, now, lock }).run();
    const before = "2026-05-25T00:00:00.000Z";
    expect(many.steps).toEqual([200, 200, 50].map((removed) => ({ before, removed })));
    expect(log.said).toEqual([{ level: "info", facts: { kind: "rows", removed: 450 }, message: "old rows removed" }]);
  });

  test("continues with the next kind when one fails, and says which", async () => {
    const database = await openFresh(kind);
    const log = recordingLog();
    const failing = { name: "broken", retainMs: 1, removeSome: () => Promise.reject(new Error("no")) };
    const many = manyRows(1);
    await createRetention({ database, tasks: [failing, many.kind].map(removeOld), log, now, lock }).run();
    expect(log.said.map(({ level, facts }) => [level, facts["kind"]])).toEqual([
      ["error", "broken"],
      ["info", "rows"],
    ]);
  });

  test("runs once more, however often it is asked to while it runs", async () => {
    const database = await openFresh(kind);
    const asked: Promise<void>[] = [];
    const many = manyRows(0, () => {
      if (many.steps.length === 1) asked.push(retention.run(), retention.run(), retention.run());
    });
    const retention = createRetention({ database, tasks: [removeOld(many.kind)], log: recordingLog(), now, lock });
    await retention.run();
    await Promise.all(asked);
    expect(many.steps).toHaveLength(2);
  });

  test("stops after the step that runs when the host closes", async () => {
    const database = await openFresh(kind);
    const many = manyRows(10_000, () => void closing.push(retention.close()));
    const retention = createRetention({ database, tasks: [removeOld(many.kind)], log: recordingLog(), now, lock });
    const closing: Promise<void>[] = [];
    await retention.run();
    await Promise.all(closing);
    expect(many.steps).toHaveLength(1);
  });

  test("removes nothing while the host is too old for the database, not even the next step, and everything after that", async () => {
    const database = await openFresh(kind);
    const state = { isTooOld: false };
    const many = manyRows(450, () => void (state.isTooOld = true));
    const withState = { ...database, isTooOld: () => state.isTooOld };
    const retention = createRetention({
      database: withState,
      tasks: [removeOld(many.kind)],
      log: recordingLog(),
      now,
      lock,
    });
    await retention.run();
    await retention.run();
    expect(many.steps.map(({ removed }) => removed)).toEqual([200]);
    state.isTooOld = false;
    await retention.run();
    expect(many.steps.map(({ removed }) => removed)).toEqual([200, 200]);
  });

  test("judges by a time that follows the clock by a day at most each time, so a jump ages nothing by years", async () => {
    const database = await openFresh(kind);
    const judge = async (time: string) => (await judgeTime(database, new Date(time), recordingLog())).toISOString();
    expect(await judge("2026-06-01T00:00:00.000Z")).toBe("2026-06-01T00:00:00.000Z");
    expect(await judge("2026-06-01T01:00:00.000Z")).toBe("2026-06-01T01:00:00.000Z");
    expect(await judge("2036-06-01T02:00:00.000Z")).toBe("2026-06-02T01:00:00.000Z");
    expect(await judge("2036-06-01T03:00:00.000Z")).toBe("2026-06-03T01:00:00.000Z");
    // Corrected.
    expect(await judge("2026-06-01T04:00:00.000Z")).toBe("2026-06-01T04:00:00.000Z");
  });

  test("warns of a clock that jumped", async () => {
    const database = await openFresh(kind);
    const log = recordingLog();
    for (const time of ["2020-01-01T00:00:00.000Z", "2020-01-03T00:00:00.000Z", "2026-06-01T00:00:00.000Z"])
      await judgeTime(database, new Date(time), log);
    expect(log.said).toMatchObject([{ level: "warn", facts: { judgedAt: "2020-01-03T00:00:00.000Z" } }]);
  });
});

test("of two hosts on a PostgreSQL one removes at a time, and the other leaves it at that", async () => {
  const [one, other] = await openPair();
  const retentionOf = (database: Database, kinds: RetentionKind[]) =>
    createRetention({ database, tasks: kinds.map(removeOld), log: recordingLog(), now, lock });
  const theirs = manyRows(450);
  const beside = retentionOf(other, [theirs.kind]);
  const mine = manyRows(450, () => beside.run());
  await retentionOf(one, [mine.kind]).run();
  expect([mine.steps.length, theirs.steps.length]).toEqual([3, 0]);
  await beside.run();
  expect(theirs.steps).toHaveLength(3);
});
