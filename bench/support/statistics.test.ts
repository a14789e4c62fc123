import { expect, test } from "vitest";
import { median, medianRatio, quantile } from "./statistics.ts";

for (const row of [
  { name: "of an odd number of values is the one in the middle", values: [9, 1, 5], expected: 5 },
  { name: "of an even number of values is the mean of the two in the middle", values: [4, 1, 9, 2], expected: 3 },
  { name: "is by number, not by text", values: [10, 9, 100], expected: 10 },
  { name: "of nothing is no number", values: [], expected: Number.NaN },
]) {
  test(`the median ${row.name}`, () => expect(median(row.values)).toBe(row.expected));
}

test("a quantile is a value that was measured", () => {
  const values = Array.from({ length: 100 }, (_, place) => 100 - place);
  expect([0, 0.5, 0.99, 1].map((share) => quantile(values, share))).toEqual([1, 51, 100, 100]);
});

test("a ratio is taken within each round, and the median of these is another than the ratio of the medians", () => {
  expect(medianRatio([9, 2, 4], [3, 1, 4])).toBe(2);
  expect(() => medianRatio([1, 2], [1])).toThrow("as many rounds");
});
