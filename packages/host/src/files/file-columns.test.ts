import fc from "fast-check";
import { expect, test } from "vitest";
import { PathSegmentSchema } from "turnpike/contracts";
import { pathColumns, pathSegments, pathText } from "./file-columns.ts";

const unit = fc.oneof(
  fc.string({ unit: "binary", maxLength: 3 }),
  fc.constantFrom("\ud800", "\udc00", "u", "d800", "🙂"),
);
const segment = fc
  .array(unit, { maxLength: 200 })
  .map((parts) => parts.join("").slice(0, 256))
  .filter((text) => PathSegmentSchema.safeParse(text).success);
const path = fc.array(segment, { minLength: 1, maxLength: 5 });

test("every path is read from its column as it was written there, and no two are one", () => {
  fc.assert(
    fc.property(path, (written) => {
      const { path: text } = pathColumns(written);
      expect(pathSegments(text)).toEqual(written);
      expect(text).not.toMatch(/\p{Cs}/u);
    }),
  );
});

test("the order by beginning and then by path is the order of the paths' bytes", () => {
  const compare = (one: string, other: string): number =>
    Math.sign(Buffer.compare(Buffer.from(one), Buffer.from(other)));
  const long = fc
    .tuple(path, fc.constantFrom("", "x".repeat(250), "🙂".repeat(120)))
    .map(([some, name]) => [name, ...some]);
  fc.assert(
    fc.property(long, long, (one, other) => {
      const [first, second] = [pathColumns(one), pathColumns(other)];
      const byBeginning = compare(first.path_start, second.path_start);
      expect(byBeginning || compare(first.path, second.path)).toBe(compare(first.path, second.path));
    }),
  );
});

for (const row of [
  { name: "the root", path: [], text: "" },
  { name: "segments", path: ["a", "b c"], text: "a/b c" },
  { name: "a whole pair", path: ["🙂"], text: "🙂" },
  { name: "half a pair", path: ["a\ud83d", "\ude42"], text: String.raw`a\ud83d/\ude42` },
]) {
  test(`${row.name} is stored as ${JSON.stringify(row.text)}`, () => {
    expect(pathText(row.path)).toBe(row.text);
    expect(pathSegments(row.text)).toEqual(row.path);
  });
}
