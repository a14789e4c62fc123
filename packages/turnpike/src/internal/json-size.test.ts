import fc from "fast-check";
import { afterEach, expect, test, vi } from "vitest";
import { readJson, type JsonValue } from "./json.ts";
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

afterEach(() => {
  vi.restoreAllMocks();
});

/** A number of as many characters as a number can have. */
const longest = -2.225_073_858_507_201_4e-308;

/** A copy that `readJson` made, and that knows how large it is at most. */
function readCopy(value: unknown): JsonValue {
  const reading = readJson(value);
  if (!reading.ok) throw new Error(reading.problem.expected);
  return reading.value;
}

test("JSON that was read is measured without reading its parts again, when it surely fits", () => {
  const value = readCopy({ text: "milk", list: [1, [true], { deep: null }] });
  const keys = vi.spyOn(Object, "keys");
  expect(fitsInBytes(value, 1_048_576)).toBe(true);
  expect(keys).not.toHaveBeenCalled();
  expect(fitsInBytes(value, 10)).toBe(false);
  expect(keys).toHaveBeenCalled();
});

test("the size of any JSON that was read is that of its text too", () => {
  const extremes = fc.constantFrom(-Number.MAX_VALUE, -Number.MIN_VALUE, longest, 1e21, -0);
  const values = fc.jsonValue({ noUnicodeString: false, maxDepth: 6 });
  fc.assert(
    fc.property(fc.tuple(values, fc.array(extremes), fc.string({ unit: "binary" })), (made) => {
      // No JSON that is read has this key.
      fc.pre(!JSON.stringify(made).includes('"__proto__"'));
      const value = readCopy(made);
      const bytes = bytesOf(value);
      expect([fitsInBytes(value, bytes), fitsInBytes(value, bytes - 1)]).toStrictEqual([true, false]);
    }),
  );
});

for (const { name, value } of [
  { name: "characters that are escaped", value: ["\u0000".repeat(100)] },
  { name: "keys that are escaped", value: { ["\u0000".repeat(100)]: 1 } },
  {
    name: "many keys and texts that are escaped",
    value: Object.fromEntries(Array.from({ length: 100 }, (_, place) => ["\u0000".repeat(place), "\u0000"])),
  },
  { name: "numbers of 24 characters", value: Array.from({ length: 100 }, () => longest) },
  { name: "empty lists", value: Array.from({ length: 100 }, () => []) },
  { name: "empty texts", value: Array.from({ length: 100 }, () => "") },
  { name: "empty objects under empty keys", value: { "": { "": { "": {} } } } },
]) {
  test(`${name} do not make JSON that was read larger than it says`, () => {
    const copy = readCopy(value);
    expect(fitsInBytes(copy, bytesOf(copy) - 1)).toBe(false);
  });
}
