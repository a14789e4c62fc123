import { expect, test } from "vitest";
import { meaningOf, rowAfter, takesLetters } from "./keys.ts";

const pressed = (key: string, changes: object = {}) => ({
  key,
  ctrlKey: false,
  metaKey: false,
  altKey: false,
  isComposing: false,
  defaultPrevented: false,
  ...changes,
});

test("keys mean the same on every screen", () => {
  const meanings = [..."/?jkxJ"].map((key) => meaningOf(pressed(key), false, false));
  expect(meanings).toEqual(["search", "help", "next", "previous", undefined, undefined]);
  expect(meaningOf(pressed("k", { ctrlKey: true }), false, false)).toBe("search");
  expect(meaningOf(pressed("k", { metaKey: true }), false, false)).toBe("search");
});

for (const { name, key, changes = {}, isTyping = false, isAsked = false } of [
  { name: "while the operator types", key: "j", isTyping: true },
  { name: "while the operator types, with Ctrl either", key: "k", changes: { ctrlKey: true }, isTyping: true },
  { name: "while a dialog is open", key: "/", isAsked: true },
  { name: "when the browser means something else by it", key: "j", changes: { ctrlKey: true } },
  { name: "with Alt", key: "?", changes: { altKey: true } },
  { name: "while a letter is composed", key: "j", changes: { isComposing: true } },
  { name: "when something else has taken it", key: "k", changes: { defaultPrevented: true } },
]) {
  test(`a key means nothing ${name}`, () =>
    expect(meaningOf(pressed(key, changes), isTyping, isAsked)).toBeUndefined());
}

test("letters go into fields, and not into boxes and buttons", () => {
  const isTaking = [
    { tagName: "INPUT", type: "text" },
    { tagName: "INPUT", type: "search" },
    { tagName: "input", type: "datetime-local" },
    { tagName: "TEXTAREA" },
    { tagName: "SELECT" },
    { tagName: "DIV", isContentEditable: true },
    { tagName: "INPUT", type: "checkbox" },
    { tagName: "INPUT", type: "radio" },
    { tagName: "BUTTON" },
    { tagName: "A" },
    null,
  ].map(takesLetters);
  expect(isTaking).toEqual([true, true, true, true, true, true, false, false, false, false, false]);
});

test("a list is walked from its first row to its last, and no further", () => {
  const rows = [
    rowAfter(-1, 3, "next"),
    rowAfter(-1, 3, "previous"),
    rowAfter(0, 3, "next"),
    rowAfter(2, 3, "next"),
    rowAfter(2, 3, "previous"),
    rowAfter(0, 3, "previous"),
    rowAfter(-1, 0, "next"),
  ];
  expect(rows).toEqual([0, 0, 1, undefined, 1, undefined, undefined]);
});
