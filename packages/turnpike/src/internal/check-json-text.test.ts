import fc from "fast-check";
import { expect, test } from "vitest";
import { checkJsonText } from "./check-json-text.ts";
import { readJson } from "./json.ts";

const tooDeep = "expected at most 64 levels of nesting";
const tooMany = "expected at most 100000 values in the whole document";
const tooManyKeys = "expected at most 10000 different keys in the whole document";

function check(text: string): ReturnType<typeof checkJsonText> {
  return checkJsonText(new TextEncoder().encode(text));
}

function list(length: number, element: string): string {
  return `[${Array.from({ length }, () => element).join()}]`;
}

function keys(count: number): string {
  return `{${Array.from({ length: count }, (_, index) => `"key-${index}": 0`).join()}}`;
}

/**
 * Keys that share every polynomial hash modulo 2^32, whatever its odd factor: they differ by multiples of a polynomial of
 * which each odd number makes a multiple of 2^32.
 */
function collidingKeys(count: number): string[] {
  let vanishing = [1];
  // x^2 - 1, x^4 - 1 and x^8 - 1 are multiples of 8, 16 and 32 for each odd x: 4 times 3, 5 times 4 bits.
  for (const power of [2, 2, 2, 2, 4, 4, 4, 4, 4]) {
    const product = Array<number>(vanishing.length + power).fill(0);
    for (const [place, value] of vanishing.entries()) {
      product[place] = (product[place] ?? 0) - value;
      product[place + power] = (product[place + power] ?? 0) + value;
    }
    vanishing = product;
  }
  const found: string[] = [];
  for (let mask = 0; found.length < count; mask += 1) {
    const bytes = Array<number>(vanishing.length + 20).fill(80);
    for (let shift = 0; shift < 20; shift += 1) {
      if (((mask >> shift) & 1) === 0) continue;
      for (const [place, value] of vanishing.entries())
        bytes[place + shift] = (bytes[place + shift] ?? 0) + (shift % 2 === 0 ? value : -value);
    }
    if (bytes.every((byte) => byte > 34 && byte < 127 && byte !== 92)) found.push(String.fromCharCode(...bytes));
  }
  return found;
}

const members = (names: readonly string[]): string => `{${names.map((name) => `"${name}":0`).join()}}`;
const colliding = collidingKeys(10_001);
const alike = Array.from({ length: 10_001 }, (_, index) => `${"k".repeat(200)}${index}`);

const brackets = '[{,\\"}]';

for (const { name, text } of [
  { name: "64 levels", text: "[".repeat(64) + "]".repeat(64) },
  { name: "100,000 values", text: list(99_999, "0") },
  { name: "100,000 values, some of them empty", text: list(99_999, "[ ]") },
  { name: "100,000 values with blanks between", text: list(99_999, " {\t\n} ") },
  { name: "100,000 values in pairs", text: `[${list(49_998, "[1]")},0,0]` },
  { name: "brackets in strings", text: list(90_000, JSON.stringify(brackets)) },
  { name: "brackets in a long string", text: JSON.stringify(brackets.repeat(100_000)) },
  { name: "brackets in keys", text: `{${JSON.stringify(brackets.repeat(100_000))}:0}` },
  { name: "10,000 different keys", text: keys(10_000) },
  { name: "10,000 different keys that share a hash", text: members(colliding.slice(1)) },
  { name: "10,000 different keys that begin alike, each twice", text: list(2, members(alike.slice(1))) },
  { name: "a few keys in many objects", text: list(30_000, '{"one":1,"two":2}') },
  { name: "an escaped quote at every place of a long string", text: `"${"a".repeat(127)}${'\\"'.repeat(300)}[["` },
  { name: "a long string that never ends", text: `"${"[".repeat(1000)}` },
  { name: "nothing", text: "" },
  { name: "no JSON", text: `]]}},,"` },
]) {
  test(`${name} is within the limits`, () => {
    expect(check(text)).toBeUndefined();
  });
}

for (const { name, text, path, expected } of [
  { name: "65 levels", text: "[".repeat(65), path: Array(64).fill(0), expected: tooDeep },
  {
    name: "65 levels in the second element",
    text: `[0,${"[".repeat(64)}`,
    path: [1, ...Array(63).fill(0)],
    expected: tooDeep,
  },
  {
    name: "65 levels of objects",
    text: '{"a":0,"b\\u002fc":'.repeat(65),
    path: Array(64).fill("b/c"),
    expected: tooDeep,
  },
  { name: "100,001 values", text: list(100_000, "0"), path: [], expected: tooMany },
  { name: "100,001 empty values", text: list(100_000, "{}"), path: [], expected: tooMany },
  { name: "too many values in a part", text: `{"a":[0,${list(100_000, "0")}]}`, path: ["a", 1], expected: tooMany },
  {
    name: "too many values behind a long string",
    text: `["${"\\\\".repeat(5000)}",${list(100_000, "0")}]`,
    path: [1],
    expected: tooMany,
  },
  { name: "10,001 different keys", text: keys(10_001), path: [], expected: tooManyKeys },
  { name: "10,001 different keys that share a hash", text: members(colliding), path: [], expected: tooManyKeys },
  { name: "10,001 different keys that begin alike", text: members(alike), path: [], expected: tooManyKeys },
  { name: "10,001 different keys in a part", text: `[0,${keys(10_001)}]`, path: [1], expected: tooManyKeys },
]) {
  test(`${name} is refused where it happens`, () => {
    expect(check(text)).toEqual({ kind: "size", path, expected });
  });
}

test("the text and the value of a document have the same limits", () => {
  const part = fc.jsonValue({ maxDepth: 3 });
  const depth = fc.integer({ min: 60, max: 66 });
  fc.assert(
    fc.property(part, depth, fc.boolean(), (inner, levels, inObjects) => {
      let value: unknown = inner;
      for (let level = 0; level < levels; level += 1) value = inObjects ? { a: 0, in: value } : [1, value];
      fc.pre(!JSON.stringify(value).includes("__proto__"));
      const reading = readJson(value);
      for (const text of [JSON.stringify(value), JSON.stringify(value, undefined, 1)]) {
        expect(check(text)?.expected).toBe(reading.ok ? undefined : reading.problem.expected);
      }
    }),
  );
});
