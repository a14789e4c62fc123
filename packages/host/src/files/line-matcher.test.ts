import { expect, test } from "vitest";
import { withRoom } from "../../test/with-room.ts";
import { createLineMatcher } from "./line-matcher.ts";

const literal = { isRegex: false, ignoresCase: false };
const regex = { isRegex: true, ignoresCase: false };

for (const row of [
  { name: "a literal", pattern: "a.b", how: literal, line: "xa.by", isIn: true },
  { name: "a literal is no expression", pattern: "a.b", how: literal, line: "axb", isIn: false },
  {
    name: "a literal in another case",
    pattern: "ÄB",
    how: { ...literal, ignoresCase: true },
    line: "xäbx",
    isIn: true,
  },
  { name: "case counts", pattern: "AB", how: literal, line: "ab", isIn: false },
  { name: "an expression", pattern: "^a.b$", how: regex, line: "axb", isIn: true },
  { name: "an expression that is not there", pattern: "^a.b$", how: regex, line: "axbc", isIn: false },
  {
    name: "an expression in another case",
    pattern: "^ä",
    how: { ...regex, ignoresCase: true },
    line: "Äb",
    isIn: true,
  },
  { name: "a class of letters", pattern: String.raw`\pL{3}`, how: regex, line: "12日本語", isIn: true },
  { name: "half a surrogate pair", pattern: "x", how: regex, line: "\ud800x\udc00", isIn: true },
  {
    name: "what ids look like",
    pattern: "[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}",
    how: regex,
    line: "id 123e4567-e89b-12d3-a456-426614174000",
    isIn: true,
  },
]) {
  test(`${row.name}: ${row.pattern} is ${row.isIn ? "" : "not "}in ${JSON.stringify(row.line)}`, () => {
    expect(createLineMatcher(row.pattern, row.how).isIn(row.line)).toBe(row.isIn);
  });
}

for (const row of [
  { name: "nothing", pattern: "", how: literal, message: "The pattern is empty." },
  { name: "too much", pattern: "a".repeat(1001), how: literal, message: "The pattern has more than 1000 characters." },
  { name: "too much", pattern: "a".repeat(1001), how: regex, message: "The pattern has more than 1000 characters." },
  {
    name: "two lines",
    pattern: "a\nb",
    how: literal,
    message: "The pattern has a line break, and files are searched line by line.",
  },
  {
    name: "an open group",
    pattern: "(",
    how: regex,
    message: "The pattern is no regular expression: error parsing regexp: missing closing ): `(`.",
  },
  {
    name: "a lookahead",
    pattern: "(?=a)",
    how: regex,
    message: "The pattern is no regular expression: error parsing regexp: invalid or unsupported Perl syntax: `(?=`.",
  },
  {
    name: "a back reference",
    pattern: String.raw`(a)\1`,
    how: regex,
    message: String.raw`The pattern is no regular expression: error parsing regexp: invalid escape sequence: ${"`"}\1${"`"}.`,
  },
  {
    name: "escapes in an open class",
    pattern: `[${String.raw`\a`.repeat(400)}`,
    how: regex,
    message: `The pattern is no regular expression: error parsing regexp: missing closing ]: \`[${String.raw`\a`.repeat(400)}\`.`,
  },
  {
    name: "nested repetitions",
    pattern: "(((a{100}){100}){100})",
    how: regex,
    message: "The pattern has more than 1000 steps when its repetitions are written out.",
  },
  {
    name: "many repetitions",
    pattern: "a{1000}".repeat(100),
    how: regex,
    message: "The pattern has more than 1000 steps when its repetitions are written out.",
  },
  {
    name: "a long repetition",
    pattern: `(${"a".repeat(900)}){1000}`,
    how: regex,
    message: "The pattern has more than 1000 steps when its repetitions are written out.",
  },
  {
    name: "optional repetitions",
    pattern: `(${"(a?b)?".repeat(100)}){0,50}`,
    how: regex,
    message: "The pattern has more than 1000 steps when its repetitions are written out.",
  },
]) {
  test(`a pattern of ${row.name} is refused in words, and without being tried first`, () => {
    expect(() => withRoom(() => createLineMatcher(row.pattern, row.how))).toThrow(
      expect.objectContaining({ code: "invalid_pattern", message: row.message }),
    );
  });
}
