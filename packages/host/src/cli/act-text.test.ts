import { describe, expect, test } from "vitest";
import type { Act, JsonObject, JsonValue } from "turnpike/contracts";
import { visibleText } from "../display/index.ts";
import { argumentsText, shortText, wrapText } from "./act-text.ts";

const bob = { kind: "human", userId: "bob" } as const;

function call(args: JsonObject): Act {
  return { kind: "tool", tool: "mail.send", arguments: args };
}

function table(args: JsonObject, { isFull = false, columns = 60 } = {}): string[] {
  return argumentsText(call(args), { isFull, columns }).split("\n");
}

describe("the arguments of an act", () => {
  test("are a table, nested ones by their names with dots and those of lists by their places", () => {
    const args = {
      to: [{ name: "Bob", tags: [] }, "carol@example.org"],
      subject: "Lunch?",
      options: { cc: { self: true } },
    };
    expect(table(args)).toEqual([
      "  to[0].name       Bob",
      "  to[0].tags       []",
      "  to[1]            carol@example.org",
      "  subject          Lunch?",
      "  options.cc.self  true",
    ]);
  });

  test("of a resource, a message and a turn are what they bring", () => {
    const [columns, isFull] = [60, false];
    const resource = { namespace: "files", path: ["a"] };
    const act: Act = { kind: "resource", action: "create", resource, input: { content: "x" }, metadata: { n: 1 } };
    expect(argumentsText(act, { columns, isFull })).toBe("  input.content  x\n  metadata.n     1");
    expect(argumentsText({ kind: "message", receiver: bob, payload: "hi" }, { columns, isFull })).toBe("  payload  hi");
    const content = { payload: "hi", replyTo: "m1", provenance: { source: "mail", parentIds: [] } };
    const told = ["  payload               hi", "  replyTo               m1", "  provenance.source     mail"];
    expect(
      argumentsText({ kind: "message", receiver: bob, ...content }, { columns, isFull })
        .split("\n")
        .slice(0, 3),
    ).toEqual(told);
    const agent = { kind: "agent", agentId: "assistant" } as const;
    const turn: Act = { kind: "turn", agent, sender: bob, ...content, state: { said: "no" }, metadata: { n: 1 } };
    expect(argumentsText(turn, { columns, isFull }).split("\n")).toEqual([
      ...told,
      "  provenance.parentIds  []",
      "  state.said            no",
      "  metadata.n            1",
    ]);
    expect(argumentsText(call({}), { columns, isFull })).toBe("");
  });

  for (const row of [
    { name: "a number", value: 5, shown: "5" },
    { name: "a text that reads like a number", value: "5", shown: '"5"' },
    { name: "a text that reads like a truth", value: "true", shown: '"true"' },
    { name: "a text that reads like nothing", value: "null", shown: '"null"' },
    { name: "nothing", value: null, shown: "null" },
    { name: "an empty text", value: "", shown: '""' },
    { name: "a text with a space at its end", value: "a ", shown: '"a "' },
    { name: "a text in quotes", value: '"a"', shown: String.raw`"\"a\""` },
    { name: "a text that begins with a digit", value: "5 apples", shown: "5 apples" },
    { name: "an empty object", value: {}, shown: "{}" },
  ] as { name: string; value: JsonValue; shown: string }[]) {
    test(`cannot be mistaken: ${row.name}`, () => {
      expect(table({ a: row.value })).toEqual([`  a  ${row.shown}`]);
    });
  }

  for (const row of [
    { name: "a change of direction", text: "a\u202eb", shown: "a<U+202E>b" },
    { name: "what has no width", text: "a\u200bb\u2060\ufeffc", shown: "a<U+200B>b<U+2060><U+FEFF>c" },
    { name: "tags", text: "a\u{E0041}\u{E007F}", shown: "a<U+E0041><U+E007F>" },
    { name: "a variation selector", text: "a\ufe0f\u{E0100}", shown: "a<U+FE0F><U+E0100>" },
    { name: "a terminal's escape", text: "a\u001b[31mb\u009b2J", shown: "a<U+001B>[31mb<U+009B>2J" },
    { name: "a carriage return", text: "a\rb", shown: "a<U+000D>b" },
    { name: "half of a character", text: "a\ud800b", shown: "a<U+D800>b" },
    { name: "a line separator", text: "a\u2028b", shown: "a<U+2028>b" },
  ]) {
    test(`hide nothing: ${row.name}`, () => {
      expect(table({ a: row.text })).toEqual([`  a  ${row.shown}`]);
      const [line = ""] = table({ [row.text]: 1 });
      expect(line).toMatch(/^ {2}\["a.*"\] {2}1$/);
      expect(line).not.toMatch(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Variation_Selector}]/u);
    });
  }

  test("have names that cannot be mistaken for several, or for a place in a list", () => {
    expect(table({ "a.b": 1, a: { b: 2, "c.d": 3 }, "e[0]": 4, "": 5 })).toEqual([
      '  ["a.b"]   1',
      "  a.b       2",
      '  a["c.d"]  3',
      '  ["e[0]"]  4',
      '  [""]      5',
    ]);
  });

  test("with several lines cannot look like further arguments", () => {
    expect(table({ body: "Hello\nto       mallory\n  to     mallory", to: "bob" })).toEqual([
      "  body  | Hello",
      "        | to       mallory",
      "        |   to     mallory",
      "  to    bob",
    ]);
  });

  test("are wrapped by us, so that no terminal begins a line with them", () => {
    const lines = table({ a: `ok${" ".repeat(60)}to  mallory`, b: "跟".repeat(40) }, { columns: 40 });
    expect(lines).toEqual([
      `  a  | ok`,
      `     :${" ".repeat(30)}to`,
      "     : mallory",
      `  b  | ${"跟".repeat(16)}`,
      `     : ${"跟".repeat(16)}`,
      `     : ${"跟".repeat(8)}`,
    ]);
  });

  test("that are long are cut with a line that says how to see all, and shown whole when that is asked for", () => {
    const content = Array.from({ length: 50 }, (_, line) => `line ${line}`).join("\n");
    const cut = table({ content, path: "a" });
    expect(cut).toHaveLength(14);
    expect(cut.slice(11)).toEqual([
      "           | line 11",
      "  ... and 38 more lines of it: --full shows all.",
      "  path     a",
    ]);
    expect(table({ content, path: "a" }, { isFull: true })).toHaveLength(51);
  });

  test("that are many are cut the same way", () => {
    const many = Object.fromEntries(Array.from({ length: 45 }, (_, place) => [`a${place}`, place]));
    expect(table(many).slice(-2)).toEqual(["  a39  39", "  ... and 5 more: --full shows all."]);
    expect(table(many, { isFull: true })).toHaveLength(45);
  });

  test("with a very long name have lines for it", () => {
    const name = "n".repeat(60);
    expect(table({ [name]: 1, b: 2 })).toEqual([
      `  ${"n".repeat(56)}`,
      "  | nnnn",
      `${" ".repeat(44)}1`,
      `  b${" ".repeat(41)}2`,
    ]);
  });
});

test("a hidden character in a text that is wrapped is shown once", () => {
  expect(wrapText(visibleText(`a\u202e<U+202E>${"b".repeat(20)}`), 30).replaceAll("\n| ", "")).toBe(
    `a<U+202E><U+003C>U+202E>${"b".repeat(20)}`,
  );
});

test("a text that is wider than the terminal continues behind a gutter", () => {
  expect(wrapText("Because: of this", 20)).toBe("Because: of this");
  expect(wrapText(`Because${" ".repeat(13)}to  mallory`, 20)).toBe(`Because${" ".repeat(11)}\n|   to  mallory`);
});

test("a short text stays, and a long one says how to see all of it", () => {
  expect(shortText("May I?\u200b")).toBe("May I?<U+200B>");
  expect(shortText("x".repeat(500))).toBe(`${"x".repeat(300)}... (200 more characters: --full shows all)`);
});
