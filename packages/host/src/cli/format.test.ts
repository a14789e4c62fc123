import { execFileSync } from "node:child_process";
import { describe, expect, test } from "vitest";
import { commandLine } from "./format.ts";

describe("a command line", () => {
  for (const row of [
    {
      name: "plain words are left alone",
      words: ["--to", "agent:a-b_c.d", "files/notes"],
      line: "--to agent:a-b_c.d files/notes",
    },
    { name: "a URL is left alone", words: ["http://127.0.0.1:8787"], line: "http://127.0.0.1:8787" },
    { name: "nothing is quoted", words: ["--id", ""], line: "--id ''" },
    { name: "a space is quoted", words: ["a b"], line: "'a b'" },
    { name: "a quote is quoted", words: ["it's"], line: `'it'\\''s'` },
    { name: "a star is quoted", words: ["*"], line: "'*'" },
  ]) {
    test(row.name, () => expect(commandLine(row.words)).toBe(row.line));
  }

  const syntax = `~ ~root * ? [a-z] {a,b} a;b a&b a|b a>b a<b !! #comment \\ a\\'b \\n $'x' -n --help =x a=b %s`;
  const hostile = [
    "",
    " ",
    "a b",
    "it's",
    "'; exit 1; '",
    '"double"',
    "$(exit 1)",
    "`exit 1`",
    "$HOME",
    "crème 跟踪 🙂",
  ];

  /** What would break the line or speak to the terminal. */
  const unprintable = {
    "a line break": "a\nb",
    "a line break at the end": "a\n",
    "a line break and a quote": "it's\nit",
    "a tab": "a\tb",
    "a carriage return": "denied\rallowed",
    "a colour": "\u001b[31mred",
    "an escape before a digit": "a\u001b1",
    "a bell": "\u0007",
    DEL: "a\u007f",
    "a control sequence in one character": "\u009b2J",
    "the next-line character": "a\u0085b",
    "a change of direction": "\u202eevil",
    "a line separator": "a\u2028b",
  };

  test("gives bash back every word as it was, in any locale", () => {
    const words = [...syntax.split(" "), ...hostile, ...Object.values(unprintable)];
    const line = commandLine(["printf", "%s\\0", ...words]);
    const env = { PATH: process.env["PATH"] ?? "", LC_ALL: "C" };
    const printed = execFileSync("bash", ["-c", line], { encoding: "utf8", env });
    expect(printed.split("\0").slice(0, -1)).toEqual(words);
  });

  for (const [name, word] of Object.entries(unprintable)) {
    test(`stays on one line and says nothing to the terminal with ${name}`, () => {
      expect(commandLine(["--purpose", word])).not.toMatch(/[\p{Cc}\p{Cf}\u2028\u2029]/u);
    });
  }
});
