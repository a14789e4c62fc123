import fc from "fast-check";
import { expect, test } from "vitest";
import { testContract } from "../../test/contract-rows.ts";
import {
  ActionSchema,
  IdentifierSchema,
  isSortedSet,
  PathSchema,
  PathSegmentSchema,
  PurposeSchema,
  TimestampSchema,
  VersionSchema,
} from "./scalars.ts";

testContract("a version", VersionSchema, [
  { name: "1", value: 1 },
  { name: `"1"`, value: "1" },
  { name: "1.0 read from JSON", value: JSON.parse("1.0") },
  { name: "2", value: 2, refusedAt: "" },
  { name: `"2"`, value: "2", refusedAt: "" },
  { name: `"1.0"`, value: "1.0", refusedAt: "" },
  { name: `" 1"`, value: " 1", refusedAt: "" },
  { name: "true", value: true, refusedAt: "" },
  { name: "null", value: null, refusedAt: "" },
]);

testContract("an identifier", IdentifierSchema, [
  { name: "of 1 character", value: "a" },
  { name: "of 256 characters", value: "a".repeat(256) },
  { name: "with spaces around it", value: "  a  " },
  { name: "of one emoji", value: "🦊" },
  { name: "of a lone surrogate", value: "\ud83e" },
  { name: "of 0 characters", value: "", refusedAt: "" },
  { name: "of 257 characters", value: "a".repeat(257), refusedAt: "" },
  { name: "of spaces", value: "   ", refusedAt: "" },
  { name: "of tabs, line breaks and exotic spaces", value: "\t\r\n\u00a0\u2003\u2028\u3000", refusedAt: "" },
  { name: "that is a number", value: 1, refusedAt: "" },
  { name: "that is null", value: null, refusedAt: "" },
]);

testContract("a purpose", PurposeSchema, [
  { name: "of 1 character", value: "a" },
  { name: "of 512 characters", value: "a".repeat(512) },
  { name: "with spaces around it", value: " help " },
  { name: "of 0 characters", value: "", refusedAt: "" },
  { name: "of 513 characters", value: "a".repeat(513), refusedAt: "" },
  { name: "that is a number", value: 1, refusedAt: "" },
]);

testContract("an action", ActionSchema, [
  { name: "of 1 character", value: "*" },
  { name: "of 128 characters", value: "a".repeat(128) },
  { name: "with spaces around it", value: " read " },
  { name: "of 0 characters", value: "", refusedAt: "" },
  { name: "of 129 characters", value: "a".repeat(129), refusedAt: "" },
  { name: "that is a number", value: 1, refusedAt: "" },
]);

testContract("a path segment", PathSegmentSchema, [
  { name: "of 1 character", value: "a" },
  { name: "of 256 characters", value: "a".repeat(256) },
  { name: "with spaces around it", value: " a " },
  { name: "of three dots", value: "..." },
  { name: "that begins with a dot", value: ".env" },
  { name: "that begins with two dots", value: "..a" },
  { name: "that ends with two dots", value: "a.." },
  { name: "of two dots and a space", value: ".. " },
  { name: "with an escaped slash", value: "a%2fb" },
  { name: "of 0 characters", value: "", refusedAt: "" },
  { name: "of 257 characters", value: "a".repeat(257), refusedAt: "" },
  { name: "of one dot", value: ".", refusedAt: "" },
  { name: "of two dots", value: "..", refusedAt: "" },
  { name: "with a slash", value: "a/b", refusedAt: "" },
  { name: "with a backslash", value: "a\\b", refusedAt: "" },
  { name: "with a null character", value: "a\u0000b", refusedAt: "" },
  { name: "with a line break at its end", value: "a\n", refusedAt: "" },
  { name: "of two dots and a line break", value: "..\n", refusedAt: "" },
  { name: "with a delete character", value: "a\u007f", refusedAt: "" },
  { name: "with a C1 control character", value: "a\u0085b", refusedAt: "" },
  { name: "that is a number", value: 1, refusedAt: "" },
]);

testContract("a path", PathSchema, [
  { name: "of 0 segments", value: [] },
  { name: "of 64 segments", value: Array(64).fill("a") },
  { name: "of 65 segments", value: Array(65).fill("a"), refusedAt: "" },
  { name: "with a bad segment", value: ["a", "..", "b"], refusedAt: "/1" },
  { name: "that is a string", value: "a/b", refusedAt: "" },
]);

// The form itself has its rows in instant.test.ts.
testContract("a timestamp", TimestampSchema, [
  { name: "with an offset", value: "2026-02-01T10:00:00+01:00" },
  { name: "in lower case", value: "2026-02-01t09:00:00.5z" },
  { name: "with spaces around it", value: " 2026-02-01T09:00:00Z ", refusedAt: "" },
  { name: "without an offset", value: "2026-02-01T09:00:00", refusedAt: "" },
  { name: "that is a number", value: 1_769_936_400_000, refusedAt: "" },
  { name: "that is a Date", value: new Date(0), refusedAt: "" },
]);

for (const { name, schema, text } of [
  { name: "an identifier", schema: IdentifierSchema, text: " ".repeat(257) },
  { name: "a path segment", schema: PathSegmentSchema, text: "/".repeat(257) },
  { name: "a timestamp", schema: TimestampSchema, text: "1".repeat(65) },
]) {
  test(`${name} that is too long is not searched for what else is wrong with it`, () => {
    expect(schema.safeParse(text).error?.issues.map(({ code }) => code)).toEqual(["too_big"]);
  });
}

for (const row of [
  { name: "no names", names: [], sorted: true },
  { name: "one name", names: ["a"], sorted: true },
  { name: "one empty name", names: [""], sorted: true },
  { name: "ascending names", names: ["a", "ab", "b"], sorted: true },
  { name: "names in the order of code units", names: ["B", "a", "é"], sorted: true },
  { name: "names in the order of a dictionary", names: ["a", "B"], sorted: false },
  { name: "descending names", names: ["b", "a"], sorted: false },
  { name: "a name that occurs twice", names: ["a", "a"], sorted: false },
  { name: "an empty name that occurs twice", names: ["", ""], sorted: false },
  { name: "a last name out of order", names: ["a", "c", "b"], sorted: false },
]) {
  test(`${row.name} ${row.sorted ? "are" : "are not"} a sorted set`, () => {
    expect(isSortedSet(row.names)).toBe(row.sorted);
  });
}

const texts = fc.oneof(
  fc.string({ unit: "binary", maxLength: 600 }),
  fc.stringMatching(/^[ \t\u00a0\u2003.a/\\]{0,5}$/u),
  fc.integer({ min: 0, max: 600 }).map((length) => "a".repeat(length)),
  fc.date({ noInvalidDate: true }).map((date) => date.toISOString()),
  fc.constantFrom<unknown>(undefined, null, 1, "", " ", ".", "..", "a b", "2026-01-01T00:00:00+24:00", ["a"], {}),
);
for (const [name, schema] of Object.entries({
  ActionSchema,
  IdentifierSchema,
  PathSegmentSchema,
  PurposeSchema,
  TimestampSchema,
})) {
  test(`${name} accepts at once only what it accepts after a full check, and as it is`, () => {
    // A clone has no short cut.
    const closer = schema.clone();
    fc.assert(
      fc.property(texts, (text) => {
        const [taken, checked] = [schema.safeParse(text), closer.safeParse(text)];
        expect([taken.success, taken.data]).toStrictEqual([checked.success, checked.data]);
      }),
      { numRuns: 1000 },
    );
  });
}
