import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { isWithinJsonLimits } from "./json-limits.ts";

const limits = { maxNodes: 5, maxDepth: 3 };
const isWithin = (json: string, changes = {}): boolean =>
  isWithinJsonLimits(Buffer.from(json), { ...limits, ...changes });

describe("a message", () => {
  for (const row of [
    { name: "of a few parts is within the limits", json: '{"a":[1,2]}', isWithin: true },
    { name: "of as many parts as there may be, too", json: "[1,2,3]", isWithin: true },
    { name: "of more parts is not", json: "[1,2,3,4,5]", isWithin: false },
    { name: "of many empty parts is not", json: "[[],[],[],[],[]]", isWithin: false },
    { name: "that is too deep is not", json: "[[[[", isWithin: false },
    { name: "that closes what it opens is as deep as its deepest part", json: "[[[]]]", isWithin: true },
    { name: "with commas and brackets in a text has one part", json: '"[[[[,,,,,,,{{{"', isWithin: true },
    { name: "with a quote in a text, too", json: String.raw`"\"[[[[,,,,,,,"`, isWithin: true },
    {
      name: "with a backslash at the end of a text does not hide what follows",
      json: String.raw`["\\",[[[]]]]`,
      isWithin: false,
    },
    { name: "behind a line with an odd quote is counted all the same", json: '"\n[[[[1]]]]', isWithin: false },
    ...["\n", "\r", "\r\n", "\t"].map((control) => ({
      name: `behind a line with a quote, a backslash and ${JSON.stringify(control)} is counted all the same`,
      json: `"\\${control}[[[[1]]]]`,
      isWithin: false,
    })),
    { name: "in lines of its own is as deep as its deepest part", json: "[\n[\n[\n]\n]\n]", isWithin: true },
  ]) {
    test(row.name, () => expect(isWithin(row.json)).toBe(row.isWithin));
  }

  test("is never counted as less than it is", () => {
    fc.assert(
      fc.property(fc.jsonValue(), fc.boolean(), (value, isWide) => {
        const json = JSON.stringify(value, null, isWide ? 2 : 0);
        expect(isWithin(json, { maxDepth: 1000, maxNodes: nodesIn(value) - 1 })).toBe(false);
      }),
    );
  });
});

function nodesIn(value: unknown): number {
  if (typeof value !== "object" || value === null) return 1;
  return Object.values(value).reduce<number>((sum, part) => sum + nodesIn(part), 1);
}
