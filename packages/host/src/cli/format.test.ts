import { execFileSync } from "node:child_process";
import { describe, expect, test } from "vitest";
import { ConfigError } from "../base/config.ts";
import {
  capabilityText,
  commandLine,
  constraintsText,
  principalText,
  readCount,
  readExpiry,
  readJsonFlag,
  readPrincipal,
  readResource,
  resourceText,
} from "./format.ts";

const alice = { kind: "human", userId: "alice" } as const;

/** What a reader of flags says about a text it does not take. */
function problemOf(read: () => unknown): string {
  try {
    return `took it: ${JSON.stringify(read())}`;
  } catch (error) {
    if (error instanceof ConfigError) return error.message;
    throw error;
  }
}

describe("a principal", () => {
  for (const row of [
    { text: "human:alice", principal: { kind: "human", userId: "alice" } },
    { text: "agent:assistant", principal: { kind: "agent", agentId: "assistant" } },
    { text: "group:team", principal: { kind: "group", conversationId: "team" } },
    { text: "service:mail", principal: { kind: "service", serviceId: "mail" } },
    { text: "human:a:b c", principal: { kind: "human", userId: "a:b c" } },
    { text: "agent:-x", principal: { kind: "agent", agentId: "-x" } },
  ] as const) {
    test(`${row.text} is read, and written back as it was`, () => {
      expect(readPrincipal("--to", row.text)).toEqual(row.principal);
      expect(principalText(row.principal)).toBe(row.text);
    });
  }

  for (const text of ["", "alice", ":", "human:", ":alice", "robot:alice", "Human:alice", "human: ", " human:alice"]) {
    test(`${JSON.stringify(text)} is none, and the flag is named`, () => {
      expect(problemOf(() => readPrincipal("--to", text))).toBe(
        `--to ${text}: expected kind:id, such as human:alice or agent:assistant.`,
      );
    });
  }
});

describe("a resource", () => {
  for (const row of [
    { text: "files", resource: { namespace: "files", path: [] } },
    { text: "files/notes", resource: { namespace: "files", path: ["notes"] } },
    { text: "files/notes/to do.md", resource: { namespace: "files", path: ["notes", "to do.md"] } },
    { text: "service.messaging/human/bob", resource: { namespace: "service.messaging", path: ["human", "bob"] } },
  ]) {
    test(`${row.text} is read, and written back as it was`, () => {
      expect(readResource(row.text)).toEqual(row.resource);
      expect(resourceText(row.resource)).toBe(row.text);
    });
  }

  test("a slash at the end changes nothing", () => {
    expect(readResource("files/notes/")).toEqual({ namespace: "files", path: ["notes"] });
    expect(readResource("files/")).toEqual({ namespace: "files", path: [] });
  });

  test("steps are kept as they are, so that the host refuses what is no path", () => {
    expect(readResource("files/../x")).toEqual({ namespace: "files", path: ["..", "x"] });
    expect(readResource("files//x")).toEqual({ namespace: "files", path: ["", "x"] });
    expect(readResource("/files")).toEqual({ namespace: "", path: ["files"] });
    expect(readResource("")).toEqual({ namespace: "", path: [] });
  });
});

describe("an expiry", () => {
  const now = new Date("2026-01-01T12:00:00Z");
  for (const row of [
    { text: "1s", at: "2026-01-01T12:00:01.000Z" },
    { text: "30m", at: "2026-01-01T12:30:00.000Z" },
    { text: "1h", at: "2026-01-01T13:00:00.000Z" },
    { text: "24h", at: "2026-01-02T12:00:00.000Z" },
    { text: "7d", at: "2026-01-08T12:00:00.000Z" },
    { text: "999999d", at: "4763-11-28T12:00:00.000Z" },
    { text: "2026-01-31T12:00:00Z", at: "2026-01-31T12:00:00Z" },
    { text: "2026-01-31T12:00:00.5+02:00", at: "2026-01-31T12:00:00.5+02:00" },
  ]) {
    test(`${row.text} ends at ${row.at}`, () => expect(readExpiry("--expires", row.text, now)).toBe(row.at));
  }

  const bad = [
    "",
    "0m",
    "-1h",
    "1",
    "h",
    "1w",
    "1.5h",
    "01h",
    "1h30m",
    "1 h",
    "1H",
    "1h\n",
    "1000000d",
    "soon",
    "today",
  ];
  for (const text of [...bad, "2026-01-31", "2026-01-31T12:00:00", "2026-02-30T12:00:00Z"]) {
    test(`${JSON.stringify(text)} is none, and the flag is named`, () => {
      expect(problemOf(() => readExpiry("--expires", text, now))).toBe(
        `--expires ${text}: expected a span such as 30m, 1h or 7d, or a time such as 2026-01-31T12:00:00Z.`,
      );
    });
  }
});

describe("a count", () => {
  for (const text of ["1", "20", "999999999"]) {
    test(`${text} is one`, () => expect(readCount("--uses", text)).toBe(Number(text)));
  }

  for (const text of ["", "0", "-1", "1.5", "01", "1e3", "0x10", " 1", "1\n", "many", "1000000000", "NaN"]) {
    test(`${JSON.stringify(text)} is none, and the flag is named`, () => {
      expect(problemOf(() => readCount("--uses", text))).toBe(`--uses ${text}: expected a whole number from 1.`);
    });
  }
});

describe("JSON on a flag", () => {
  test("is read", () => expect(readJsonFlag("--args", '{"path":["a",1,null]}')).toEqual({ path: ["a", 1, null] }));

  test("that is none is refused without repeating it: it may hold a secret", () => {
    expect(problemOf(() => readJsonFlag("--args", "{hunter2"))).toBe(
      `--args: expected JSON, such as '{"path":"notes/todo.md"}'.`,
    );
  });
});

describe("in a few words", () => {
  for (const row of [
    {
      name: "one act at one place",
      capability: { resource: { namespace: "files", path: ["notes"] }, actions: ["read"], scope: "exact" },
      words: "read files/notes",
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
      const { resource, actions, scope } = row.capability;
      expect(
        capabilityText({ resource: { ...resource, path: [...resource.path] }, actions: [...actions], scope }),
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
