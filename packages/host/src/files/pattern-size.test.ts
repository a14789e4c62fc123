import { expect, test } from "vitest";
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
  { pattern: ")(", size: 1 },
  { pattern: "", size: 0 },
]) {
  test(`${JSON.stringify(row.pattern)} has ${row.size} steps`, () => {
    expect(patternSize(row.pattern)).toBe(row.size);
  });
}
