import type { UsageStore } from "../kernel/index.ts";
import { expectSame, type PortCase } from "./port-case.ts";

/**
 * Whether a usage store counts right, also when many count at once. `open` returns a store without any uses.
 *
 * @example
 * import { memoryUsage, usageStoreSuite } from "turnpike/testing";
 *
 * const cases = usageStoreSuite(async () => memoryUsage());
 * for (const { run } of cases) await run();
 * console.log(cases.length > 0); // true
 */
export function usageStoreSuite(open: () => Promise<UsageStore>): PortCase[] {
  return [
    {
      name: "starts at zero",
      async run() {
        expectSame(await (await open()).used("tenant-1", "grant-1"), 0, "uses of an unused grant");
      },
    },
    {
      name: "counts up to the maximum and not beyond",
      async run() {
        const store = await open();
        const taken = [];
        for (let use = 0; use < 4; use += 1) taken.push(await store.consume("tenant-1", "grant-1", 3));
        expectSame(taken, [true, true, true, false], "four attempts at three uses");
        expectSame(await store.used("tenant-1", "grant-1"), 3, "uses counted");
      },
    },
    {
      name: "reading counts nothing",
      async run() {
        const store = await open();
        await store.used("tenant-1", "grant-1");
        await store.used("tenant-1", "grant-1");
        expectSame(await store.consume("tenant-1", "grant-1", 1), true, "the first use after two reads");
      },
    },
    {
      name: "separates grants and tenants",
      async run() {
        const store = await open();
        await store.consume("tenant-1", "grant-1", 1);
        expectSame(await store.consume("tenant-2", "grant-1", 1), true, "the same grant id in another tenant");
        expectSame(await store.consume("tenant-1", "grant-2", 1), true, "another grant in the same tenant");
        expectSame(await store.consume("tenant-1", "grant-1", 1), false, "the grant that was used");
      },
    },
    {
      name: "a raised maximum leaves the uses already counted",
      async run() {
        const store = await open();
        await store.consume("tenant-1", "grant-1", 1);
        expectSame(await store.consume("tenant-1", "grant-1", 2), true, "a second use under a higher maximum");
        expectSame(await store.consume("tenant-1", "grant-1", 2), false, "a third use");
      },
    },
    {
      name: "a hundred consumers at once get exactly the ten uses there are",
      async run() {
        const store = await open();
        const taken = await Promise.all(Array.from({ length: 100 }, () => store.consume("tenant-1", "grant-1", 10)));
        expectSame(taken.filter(Boolean).length, 10, "uses taken");
        expectSame(await store.used("tenant-1", "grant-1"), 10, "uses counted");
      },
    },
  ];
}
