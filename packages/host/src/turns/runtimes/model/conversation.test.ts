import { describe, expect, test } from "vitest";
import { readConversation, stateAfter, textOf, type Entry } from "./conversation.ts";

const user = (text: string): Entry => ({ role: "user", text });
const assistant = (text: string): Entry => ({ role: "assistant", text });

describe("what a payload says to a model", () => {
  for (const { payload, text } of [
    { payload: "What now?", text: "What now?" },
    { payload: "", text: '""' },
    { payload: "  ", text: '"  "' },
    { payload: null, text: "null" },
    { payload: 7, text: "7" },
    { payload: { read: ["a"] }, text: '{"read":["a"]}' },
  ]) {
    test(JSON.stringify(payload), () => {
      expect(textOf(payload)).toBe(text);
    });
  }
});

describe("a conversation", () => {
  const half = "x".repeat(66_000);

  for (const { name, stored, read } of [
    { name: "that is not there is empty", stored: undefined, read: [] },
    { name: "is read as it was stored", stored: [user("a"), assistant("b")], read: [user("a"), assistant("b")] },
    { name: "begins with what was said to the agent", stored: [assistant("a"), user("b")], read: [user("b")] },
    { name: "forgets its beginning", stored: [user("a"), assistant(half), user(half)], read: [user(half)] },
    {
      name: "retains as much as fits",
      stored: [user("old"), assistant(half), user("new"), assistant(half)],
      read: [user("new"), assistant(half)],
    },
    { name: "forgets what alone is too much", stored: [user("x".repeat(140_000))], read: [] },
  ]) {
    test(name, () => {
      const found = readConversation(stored === undefined ? {} : { conversation: stored }) ?? [];
      const short = ({ role, text }: Entry): string => `${role} ${text.slice(0, 9)} ${text.length}`;
      expect(found.map(short)).toStrictEqual(read.map(short));
    });
  }

  test("is stored without empty messages, beside what the caller stores", () => {
    expect(stateAfter({ theirs: 1, conversation: "old" }, [user("a"), assistant("")])).toStrictEqual({
      theirs: 1,
      conversation: [user("a")],
    });
  });

  for (const conversation of ["hello", {}, [user("")], [{ role: "system", text: "a" }], [{ ...user("a"), more: 1 }]]) {
    test(`is not ${JSON.stringify(conversation)}`, () => {
      expect(readConversation({ conversation } as never)).toBeUndefined();
    });
  }
});
