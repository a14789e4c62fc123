import { expect, test } from "vitest";
import { plainText } from "./plain-text.ts";

for (const row of [
  { name: "plain words stay", text: "Reads a file.", shown: "Reads a file." },
  { name: "lines and tabs stay", text: "one\n\ttwo", shown: "one\n\ttwo" },
  { name: "other scripts and emoji stay", text: "读取 👩‍💻 قراءة", shown: "读取 👩‍💻 قراءة" },
  { name: "control characters go", text: "a\u0000b\u001b[31mc\u007f\u0085\r", shown: "ab[31mc" },
  { name: "overrides of direction go", text: "a\u202eb\u2066c\u2069", shown: "abc" },
  { name: "tags, which only machines read, go", text: "a\u{e0041}\u{e0042}b", shown: "ab" },
]) {
  test(row.name, () => {
    expect(plainText(row.text, 100)).toBe(row.shown);
  });
}

test("a text is cut at the limit, and no character in half", () => {
  expect(plainText("abcdef", 3)).toBe("abc");
  expect(plainText("ab👍", 3)).toBe("ab");
  expect(plainText("ab👍", 4)).toBe("ab👍");
});
