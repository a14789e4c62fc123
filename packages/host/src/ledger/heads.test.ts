import { expect, test } from "vitest";
import type { TenantHead } from "./chain.ts";
import { createHeadLog } from "./heads.ts";

const headOf = (sequence: number, changes: Partial<TenantHead> = {}): TenantHead => {
  return { namespaceId: "tenant-1", strand: 0, sequence, hash: `hash ${sequence}`, ...changes };
};

test("of a chain that continues what this process wrote only the newest head is taken, and once", () => {
  const log = createHeadLog();
  log.add([{ before: undefined, head: headOf(1) }]);
  log.add([{ before: headOf(1), head: headOf(3) }]);
  expect(log.size).toBe(1);
  expect(log.take()).toEqual([headOf(3)]);
  expect([log.size, log.take()]).toEqual([0, []]);
});

for (const before of [undefined, headOf(1, { hash: "another" })]) {
  test(`of a chain that ${before ? "continued from another row" : "was begun anew"} the head from before is taken too`, () => {
    const log = createHeadLog();
    log.add([{ before: undefined, head: headOf(1) }]);
    log.add([{ before, head: headOf(2) }]);
    expect(log.size).toBe(2);
    expect(log.take()).toEqual([headOf(1), headOf(2)]);
    expect(log.take()).toEqual([]);
  });
}

test("chains of other tenants and strands have heads of their own", () => {
  const log = createHeadLog();
  const heads = [headOf(1), headOf(1, { strand: 1 }), headOf(1, { namespaceId: "tenant-2" })];
  log.add(heads.map((head) => ({ before: undefined, head })));
  expect(log.take()).toEqual(heads);
});
