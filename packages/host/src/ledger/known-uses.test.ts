import { expect, test } from "vitest";
import { createKnownUses } from "./known-uses.ts";
import { nameOfUse } from "./submission.ts";

const one = { namespaceId: "n", grantId: "one" };
const other = { namespaceId: "n", grantId: "other" };
const found = (...counts: [typeof one, number][]) => new Map(counts.map(([use, used]) => [nameOfUse(use), used]));

test("a use that another host took is contested until it is once what was known", () => {
  const known = createKnownUses();
  const read = (used: number): boolean => {
    known.read([one], found([one, used]));
    return known.areContested([one]);
  };
  expect([3, 3, 5, 6, 6].map(read)).toEqual([false, false, true, true, false]);
});

test("what this host wrote is what is known", () => {
  const known = createKnownUses();
  known.wrote([{ ...one, used: 4, taken: 1 }]);
  expect(known.counts).toEqual(found([one, 4]));
  known.read([one, other], found([one, 4]));
  expect(known.areContested([one, other])).toBe(false);
  expect(known.counts).toEqual(found([one, 4], [other, 0]));
});

test("one that is contested makes those that are wanted with it contested, and no others", () => {
  const known = createKnownUses();
  known.wrote([{ ...one, used: 4, taken: 1 }]);
  known.read([one], found([one, 7]));
  expect([[one], [other], [other, one]].map(known.areContested)).toEqual([true, false, true]);
});

test("no more than ten thousand uses are remembered", () => {
  const known = createKnownUses();
  for (let place = 0; place < 25_000; place += 1)
    known.wrote([{ namespaceId: "n", grantId: `grant-${place}`, used: 1, taken: 1 }]);
  expect(known.counts.size).toBeLessThanOrEqual(10_000);
});
