import { readFileSync } from "node:fs";
import { expect, test } from "vitest";
import { withMeasured } from "./sizing.ts";

const read = (path: string): string => readFileSync(new URL(`../../${path}`, import.meta.url), "utf8");
const results = read("bench/results.md");
const page = read("docs/sizing.md");

test("the page about sizing says what the benchmarks measured (`node .build/bench/write-sizing.js` writes it anew)", () => {
  expect(page.match(/<!-- measured: \w+ -->/g)).toHaveLength(7);
  expect(withMeasured(page, results)).toBe(page);
});

test("a number that was measured anew is another number on the page", () => {
  const faster = results.replace(/(\| authorize\s+\|\s+SQLite \|\s+32 \|\s+)[\d,]+/, "$19,999");
  expect(faster).not.toBe(results);
  expect(withMeasured(page, faster)).toMatch(/\| authorize\s+\|\s+SQLite \|\s+9,999 \|/);
});

test("results that lack what the page shows, and a page that wants what there is not, are refused", () => {
  expect(() => withMeasured(page, results.replaceAll("audit verify", "audit check"))).toThrow(
    "not exactly one such row",
  );
  expect(() => withMeasured(page, "# What it costs")).toThrow("The results do not say when");
  expect(() => withMeasured("<!-- measured: hopes -->\n\n<!-- end -->", results)).toThrow('The page wants "hopes"');
});
