import { execFileSync } from "node:child_process";
import { describe, expect, test } from "vitest";
import { capabilityText, commandLine, constraintsText } from "./format.ts";

const alice = { kind: "human", userId: "alice" } as const;

describe("in a few words", () => {
  for (const row of [
    {
      name: "one act at one place",
      capability: { resource: { namespace: "files", path: ["notes"] }, actions: ["read"], scope: "exact" },
      words: "read files/notes",
    },
    {
      name: "one act that needs a person's yes",
      capability: {
        resource: { namespace: "files", path: ["notes"] },
        actions: ["read"],
        scope: "exact",
        approval: "each",
      },
      words: "read files/notes (needs approval)",
    },
    {
      name: "several acts below a place of an owner",
      capability: {
        resource: { namespace: "files", path: ["notes"], owner: alice },
        actions: ["read", "list"],
        scope: "descendants",
      },
      words: "read,list files/notes/** of human:alice",
    },
    {
      name: "everything in a namespace",
      capability: { resource: { namespace: "files", path: [] }, actions: ["*"], scope: "descendants" },
      words: "* files/**",
    },
  ] as const) {
    test(row.name, () => {
      const { resource, actions, ...rest } = row.capability;
      expect(
        capabilityText({ ...rest, resource: { ...resource, path: [...resource.path] }, actions: [...actions] }),
      ).toBe(row.words);
    });
  }

  for (const row of [
    { name: "no condition", constraints: {}, words: "" },
    { name: "one use", constraints: { maxUses: 1 }, words: "1 use" },
    { name: "no use at all", constraints: { maxUses: 0 }, words: "0 uses" },
    { name: "not delegable", constraints: { delegationDepth: 0 }, words: "delegable 0" },
    {
      name: "every condition",
      constraints: {
        purposes: ["support", "billing"],
        notBefore: "2026-01-01T00:00:00Z",
        expiresAt: "2026-02-01T00:00:00Z",
        maxUses: 3,
        delegationDepth: 2,
      },
      words: "for support or billing, from 2026-01-01T00:00:00Z, until 2026-02-01T00:00:00Z, 3 uses, delegable 2",
    },
  ]) {
    test(row.name, () => expect(constraintsText(row.constraints)).toBe(row.words));
  }
});

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
