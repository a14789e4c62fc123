import { expect, test } from "vitest";
import { readAmount, writeAmount } from "./amounts.ts";

for (const [text, millionths, written = text] of [
  ["0", 0n],
  ["1", 1_000_000n],
  ["0.1", 100_000n],
  ["0.000001", 1n],
  ["20.50", 20_500_000n, "20.5"],
  ["100", 100_000_000n],
  ["1.000000", 1_000_000n, "1"],
  ["0.0", 0n, "0"],
  ["999999999999.999999", 999_999_999_999_999_999n],
] as const) {
  test(`${text} is exactly ${millionths} millionths, written as ${written}`, () => {
    expect(readAmount(text)).toBe(millionths);
    expect(writeAmount(millionths)).toBe(written);
  });
}

test("a number means its shortest text", () => {
  expect([0.1, 0.000_001, 25, 999_999_999_999].map(readAmount)).toEqual([
    100_000n,
    1n,
    25_000_000n,
    999_999_999_999_000_000n,
  ]);
});
