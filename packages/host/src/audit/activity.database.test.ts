import { describe, expect, test } from "vitest";
import type { AuditEvent } from "turnpike/contracts";
import { databaseKinds, newTenant, sharedDatabase } from "../../test/databases.ts";
import { auditEvent } from "../../test/records.ts";
import { openStores, type Stores } from "../compose/stores.ts";
import { createActivity, type Activity } from "./activity.ts";

const now = new Date("2026-01-01T12:59:30.000Z");
const at = (minute: number, second = 0): string => new Date(Date.UTC(2026, 0, 1, 12, minute, second)).toISOString();

let events = 0;

async function record({ audit }: Stores, namespaceId: string, changes: Partial<AuditEvent>, times = 1): Promise<void> {
  for (let time = 0; time < times; time += 1)
    await audit.record(auditEvent(`activity-${(events += 1)}`, { namespaceId, ...changes }));
}

/** The minutes in which anything happened, as `minute: allowed denied failed`. */
function busy({ minutes }: Activity): string[] {
  return minutes
    .filter(({ allowed, denied, failed }) => allowed + denied + failed > 0)
    .map(({ at: start, allowed, denied, failed }) => `${start.slice(11, 16)}: ${allowed} ${denied} ${failed}`);
}

const checked = { type: "authorization.checked" } as const;

describe.each(databaseKinds)("activity on %s", (kind) => {
  const open = sharedDatabase(kind);

  test("has the last sixty minutes, the oldest first, and nothing of before or of other tenants", async () => {
    const stores = openStores(await open());
    const namespaceId = newTenant();
    await record(stores, namespaceId, { ...checked, at: "2026-01-01T11:59:59.999Z" });
    await record(stores, namespaceId, { ...checked, at: at(0) }, 2);
    await record(stores, namespaceId, { ...checked, at: at(59, 29) });
    await record(stores, newTenant(), { ...checked, at: at(30) });
    const activity = await stores.audit.readActivity(namespaceId, now);
    expect(activity.minutes).toHaveLength(60);
    expect(activity.minutes[0]?.at).toBe("2026-01-01T12:00:00.000Z");
    expect(busy(activity)).toEqual(["12:00: 2 0 0", "12:59: 1 0 0"]);
    expect(activity.isPartial).toBe(false);
  });

  test("counts decisions and failures, and neither what succeeded nor what operators changed", async () => {
    const stores = openStores(await open());
    const namespaceId = newTenant();
    for (const outcome of ["allowed", "denied", "succeeded", "failed", "cancelled", "escalated"] as const)
      await record(stores, namespaceId, { type: "turn.ended", outcome, at: at(10) });
    for (const outcome of ["allowed", "failed"] as const)
      await record(stores, namespaceId, { type: "operator.changed", outcome, reason: "conflict", at: at(11) });
    const activity = await stores.audit.readActivity(namespaceId, now);
    expect([busy(activity), activity.reasons]).toEqual([["12:10: 1 1 1"], []]);
  });

  test("counts an act that was denied once, although its decision and its outcome are in the audit log", async () => {
    const stores = openStores(await open());
    const namespaceId = newTenant();
    const denied = { outcome: "denied", reason: "no_matching_grant", at: at(20) } as const;
    await record(stores, namespaceId, { ...checked, ...denied }, 3);
    await record(stores, namespaceId, { type: "tool.invoked", ...denied }, 2);
    // A tool that is hidden has no decision.
    await record(stores, namespaceId, { type: "tool.invoked", ...denied, reason: "tool_unavailable" });
    const activity = await stores.audit.readActivity(namespaceId, now);
    expect(busy(activity)).toEqual(["12:20: 0 4 0"]);
    expect(activity.reasons).toEqual([
      { reason: "no_matching_grant", count: 3 },
      { reason: "tool_unavailable", count: 1 },
    ]);
  });

  test("names the ten most frequent reasons, whatever a caller has written beside them", async () => {
    const stores = openStores(await open());
    const namespaceId = newTenant();
    const nasty = {
      resource: { namespace: "files", path: ['nul\0 "reason":"forged"'] },
      metadata: { reason: "inner" },
    };
    for (let place = 0; place < 12; place += 1)
      await record(
        stores,
        namespaceId,
        { ...nasty, outcome: "failed", reason: `r${String(place).padStart(2, "0")}`, at: at(place) },
        place < 2 ? 1 : 2,
      );
    const { reasons } = await stores.audit.readActivity(namespaceId, now);
    expect(reasons.map(({ reason }) => reason)).toEqual(
      Array.from({ length: 10 }, (_, place) => `r${String(place + 2).padStart(2, "0")}`),
    );
    expect(reasons.every(({ count }) => count === 2)).toBe(true);
  });

  test("counts the newest rows when there are too many, says so, and continues from there", async () => {
    const database = await open();
    const stores = openStores(database);
    const namespaceId = newTenant();
    for (const minute of [10, 20, 30]) await record(stores, namespaceId, { ...checked, at: at(minute) }, 4);
    const read = createActivity(database, 6);
    const first = await read(namespaceId, now);
    expect([busy(first), first.isPartial]).toEqual([["12:20: 2 0 0", "12:30: 4 0 0"], true]);
    // Of the next minutes all are counted, and what is missing grows too old.
    await record(stores, namespaceId, { ...checked, at: at(65) }, 3);
    const second = await read(namespaceId, new Date(at(75)));
    expect([busy(second), second.isPartial]).toEqual([["12:20: 2 0 0", "12:30: 4 0 0", "13:05: 3 0 0"], true]);
    const third = await read(namespaceId, new Date(at(81)));
    expect([busy(third), third.isPartial]).toEqual([["12:30: 4 0 0", "13:05: 3 0 0"], false]);
  });

  test("counts the minutes of long ago once, and the last ones anew", async () => {
    const database = await open();
    const stores = openStores(database);
    const namespaceId = newTenant();
    await record(stores, namespaceId, { ...checked, at: at(10) });
    await record(stores, namespaceId, { ...checked, at: at(57) });
    const read = createActivity(database);
    expect(busy(await read(namespaceId, now))).toEqual(["12:10: 1 0 0", "12:57: 1 0 0"]);
    await record(stores, namespaceId, { ...checked, at: at(10) });
    await record(stores, namespaceId, { ...checked, at: at(57) });
    expect(busy(await read(namespaceId, now))).toEqual(["12:10: 1 0 0", "12:57: 2 0 0"]);
    expect(busy(await createActivity(database)(namespaceId, now))).toEqual(["12:10: 2 0 0", "12:57: 2 0 0"]);
  });

  test("is counted whole again when the clock was set back or nothing was read for an hour", async () => {
    const database = await open();
    const stores = openStores(database);
    const namespaceId = newTenant();
    await record(stores, namespaceId, { ...checked, at: at(10) });
    const read = createActivity(database);
    for (const [time, found] of [
      [at(59), ["12:10: 1 0 0"]],
      [at(15), ["12:10: 1 0 0"]],
      [at(300), []],
      [at(12), ["12:10: 1 0 0"]],
    ] as const)
      expect(busy(await read(namespaceId, new Date(time)))).toEqual(found);
  });
});
