import { describe, expect, test } from "vitest";
import { usageStoreSuite } from "turnpike/testing";
import { databaseKinds, openFresh, openPair, tenAtOnce } from "../../test/databases.ts";
import { usageStoreOf } from "../../test/single-stores.ts";

describe.each(databaseKinds)("uses on %s", (kind) => {
  for (const one of usageStoreSuite(async () => usageStoreOf(await openFresh(kind)))) {
    test(one.name, () => expect(one.run()).resolves.toBeUndefined());
  }

  test("the uses of several grants are read at once, each under its own id", async () => {
    const usage = usageStoreOf(await openFresh(kind));
    for (const id of ["grant-1", "nul\0", "nul\0"]) await usage.consume("tenant-1", id, 5);
    await usage.consume("tenant-2", "grant-2", 5);
    const used = await usage.usedOf("tenant-1", ["grant-1", "grant-2", "nul\0"]);
    expect([...used].toSorted()).toEqual([
      ["grant-1", 1],
      ["nul\0", 2],
    ]);
    expect(await usage.usedOf("tenant-1", [])).toEqual(new Map());
  });

  test("tenants whose ids differ in one unpaired surrogate are two tenants, or the ids are refused", async () => {
    const usage = usageStoreOf(await openFresh(kind));
    const taken = await Promise.allSettled(["\ud800", "\ud801"].map((tenant) => usage.consume(tenant, "grant-1", 1)));
    expect(taken).not.toContainEqual({ status: "fulfilled", value: false });
  });
});

test("a bounded grant that two hosts consume at once is never used more often than it may be", async () => {
  const hosts = (await openPair()).map((host) => usageStoreOf(host));
  const taken = await Promise.all(hosts.map((usage) => tenAtOnce(50, () => usage.consume("tenant-1", "grant-1", 7))));
  expect(taken.flat().filter(Boolean)).toHaveLength(7);
  for (const usage of hosts) expect(await usage.used("tenant-1", "grant-1")).toBe(7);
});
