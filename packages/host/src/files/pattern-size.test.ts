import fc from "fast-check";
import { RE2JS } from "re2js";
import { expect, test } from "vitest";
import { withRoom } from "../../test/with-room.ts";
import { patternSize } from "./pattern-size.ts";

for (const row of [
  { pattern: "abc", size: 3 },
  { pattern: "a{5}", size: 5 },
  { pattern: "a{2,5}", size: 5 },
  { pattern: "a{5,}", size: 5 },
  { pattern: "a{0}", size: 1 },
  { pattern: "(ab){3}", size: 12 },
  { pattern: "((a{10}){10}){10}", size: 1220 },
  { pattern: "[0-9a-f]{8}-[0-9a-f]{4}", size: 13 },
  { pattern: String.raw`\d{3}\(x{2}\)`, size: 7 },
  { pattern: "(ab[)]c){10}", size: 60 },
  { pattern: "(ab[(]c){10}", size: 60 },
  { pattern: "[]){2}]", size: 1 },
  { pattern: "[[:alpha:])]{3}", size: 3 },
  { pattern: String.raw`\Qa{9}(\Eb{2}`, size: 11 },
  { pattern: String.raw`\x{2028}\p{Greek}{3}\pL{2}`, size: 7 },
  { pattern: "[[:a]{2}", size: 2 },
  { pattern: "[a{2}", size: 1 },
  { pattern: String.raw`\Qa{2}`, size: 6 },
  { pattern: ")(", size: 1 },
  { pattern: "", size: 0 },
]) {
  test(`${JSON.stringify(row.pattern)} has ${row.size} steps`, () => {
    expect(patternSize(row.pattern)).toBe(row.size);
  });
}

const fragments = [
  "[",
  "]",
  "[:",
  ":]",
  "[:alpha:]",
  "^",
  "\\",
  "a",
  "\\Q",
  "\\E",
  "{",
  "}",
  "1",
  ",",
  "\\p{",
  "(",
  ")",
];

test("any pattern is read in one go, also one that is closed nowhere", () => {
  const repeated = fc.record({
    start: fc.array(fc.constantFrom(...fragments), { maxLength: 3 }),
    middle: fc.array(fc.constantFrom(...fragments), { minLength: 1, maxLength: 3 }),
    end: fc.array(fc.constantFrom(...fragments), { maxLength: 3 }),
  });
  const property = fc.property(repeated, ({ start, middle, end }) => {
    const pattern = start.join("") + middle.join("").repeat(400) + end.join("");
    expect(patternSize(pattern)).not.toBeLessThan(0);
  });
  withRoom(() => fc.assert(property, { numRuns: 300 }));
});

const parts = [
  "[a",
  "[^]",
  "]",
  "[[:alpha:]",
  "\\]",
  "a",
  "\\Q",
  "\\E",
  "{2}",
  "{3,}",
  "{0,9}",
  "\\pL",
  "\\x{41}",
  "(",
  "(?:",
  ")",
  "*",
  "|",
];

test("no pattern is measured as much less than what is compiled", () => {
  let compiled = 0;
  const property = fc.property(fc.array(fc.constantFrom(...parts), { maxLength: 12 }), (some) => {
    const pattern = some.join("");
    const size = patternSize(pattern);
    const steps = size > 10_000 ? undefined : stepsOf(pattern);
    if (steps === undefined) return;
    compiled += 1;
    expect(steps).toBeLessThanOrEqual(4 * size + 4);
  });
  fc.assert(property, { numRuns: 5_000 });
  expect(compiled).toBeGreaterThan(200);
});

/** What a pattern is compiled to; undefined when it is none. */
function stepsOf(pattern: string): number | undefined {
  try {
    return RE2JS.compile(pattern).programSize();
  } catch {
    return undefined;
  }
}
