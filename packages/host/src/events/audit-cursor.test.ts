import fc from "fast-check";
import { expect, test } from "vitest";
import { formatCursor, parseCursor } from "./audit-cursor.ts";

test("a cursor is short text that names the place in every strand, lowest strand first", () => {
  const places = [
    [1, 45],
    [0, 123],
  ] as const;
  expect(formatCursor(new Map(places))).toBe("0.123,1.45");
});

test("an audit log without rows has a cursor", () => {
  expect(formatCursor(new Map())).toBe("0.0");
});

test("every cursor is read as it was written", () => {
  const cursor = fc.uniqueArray(fc.tuple(fc.nat(999_999_999), fc.nat(2 ** 31 - 1)), { selector: ([strand]) => strand });
  fc.assert(
    fc.property(cursor, (places) => {
      expect(parseCursor(formatCursor(new Map(places)))).toEqual(new Map([[0, 0], ...places]));
    }),
  );
});

for (const text of [
  "",
  "5",
  "0.",
  ".5",
  "0.5,",
  "0.5;1.2",
  "a.b",
  "-1.5",
  "0.1e3",
  " 0.5",
  "0.5\n",
  "0.5,0.6",
  `0.${"9".repeat(16)}`,
]) {
  test(`${JSON.stringify(text)} is no cursor`, () => {
    expect(parseCursor(text)).toBeUndefined();
  });
}
