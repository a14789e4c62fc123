import { expect, test } from "vitest";
import { actRows, briefText } from "./act-rows.ts";

const call = (args: Record<string, never> | object) =>
  actRows({ kind: "tool", tool: "payments.pay", arguments: args as Record<string, string> });

test("every argument of a call is shown, nested ones by their place", () => {
  expect(call({ to: "bob", amount: 20, lines: [{ text: "a" }, "b"], note: { "a.b": true } })).toEqual([
    { name: "to", value: "bob" },
    { name: "amount", value: "20" },
    { name: "lines[0].text", value: "a" },
    { name: "lines[1]", value: "b" },
    { name: `note["a.b"]`, value: "true" },
  ]);
});

for (const { text, shown } of [
  { text: "20", shown: `"20"` },
  { text: "true", shown: `"true"` },
  { text: "", shown: `""` },
  { text: " bob", shown: `" bob"` },
  { text: "{}", shown: `"{}"` },
  { text: "two\nlines", shown: "two\nlines" },
]) {
  test(`the text ${JSON.stringify(text)} is not taken for something else`, () =>
    expect(call({ x: text })).toEqual([{ name: "x", value: shown }]));
}

test("empty objects and lists are values", () => {
  expect(call({ a: {}, b: [] })).toEqual([
    { name: "a", value: "{}" },
    { name: "b", value: "[]" },
  ]);
});

test("of a message its payload is shown, and what it answers", () => {
  const receiver = { kind: "human", userId: "bob" } as const;
  expect(actRows({ kind: "message", receiver, payload: { text: "hi" }, replyTo: "m1" })).toEqual([
    { name: "payload.text", value: "hi" },
    { name: "replyTo", value: "m1" },
  ]);
});

test("of an operation on a resource its input is shown", () => {
  const resource = { namespace: "files", path: ["a"] };
  expect(actRows({ kind: "resource", action: "write", resource, input: "x" })).toEqual([{ name: "input", value: "x" }]);
});

test("two calls of the same tool can be told apart by their first arguments", () => {
  const act = { kind: "tool", tool: "t", arguments: { to: "bob", amount: 20, a: 1, b: 2 } } as const;
  expect(briefText(act)).toBe("to: bob, amount: 20, a: 1, …");
});
