import fc from "fast-check";
import { expect, test } from "vitest";
import type { JsonValue } from "./json.ts";
import { fitsInBytes } from "./json-size.ts";

function bytesOf(value: JsonValue): number {
  return new TextEncoder().encode(JSON.stringify(value)).length;
}

const rows: { name: string; value: JsonValue }[] = [
  { name: "nothing", value: null },
  { name: "an empty text", value: "" },
  { name: "plain text", value: "abc" },
  { name: "text that is escaped", value: '"\\\b\t\n\f\r\u0000\u001f\u007f' },
  { name: "text of two, three and four bytes", value: "é€😀" },
  { name: "halves of a pair alone and in the wrong order", value: "\ud83d \ude00 \ude00\ud83d \ud83d\ud83d\ude00" },
  { name: "numbers", value: [0, -0, 1.5, -12, 1e21, 1e-7] },
  { name: "empty lists and objects", value: [[], {}, [[]], { a: {} }] },
  { name: "keys that are escaped", value: { 'a"b': true, é: false } },
];
for (const { name, value } of rows) {
  test(`the size of ${name} is that of its JSON, to the byte`, () => {
    const bytes = bytesOf(value);
    expect([fitsInBytes(value, bytes), fitsInBytes(value, bytes - 1)]).toStrictEqual([true, false]);
  });
}

test("the size of any JSON is that of its text", () => {
  fc.assert(
    fc.property(fc.jsonValue({ noUnicodeString: false, maxDepth: 6 }), (value) => {
      const bytes = bytesOf(value as JsonValue);
      expect([fitsInBytes(value as JsonValue, bytes), fitsInBytes(value as JsonValue, bytes - 1)]).toStrictEqual([
        true,
        false,
      ]);
    }),
  );
});

test("the count stops when the limit is passed: what is behind it is not read", () => {
  let reads = 0;
  const counted = new Proxy(
    Array.from({ length: 100_000 }, () => "x"),
    {
      get(target, key) {
        if (typeof key === "string" && /^\d+$/.test(key)) reads += 1;
        return Reflect.get(target, key) as unknown;
      },
    },
  );
  expect(fitsInBytes(counted, 100)).toBe(false);
  expect(reads).toBeLessThan(100);
});
