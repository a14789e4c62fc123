import { expect, test } from "vitest";
import { asksEachTime, capabilityWords, termsOf, termsText } from "./grant-words.ts";

const notes = { namespace: "files", path: ["notes"] };

for (const { name, capability, words } of [
  {
    name: "a place and all below it",
    capability: { actions: ["read", "list"], resource: notes, scope: "descendants" },
    words: "read and list files/notes and everything below it",
  },
  {
    name: "one place alone",
    capability: { actions: ["read"], resource: notes, scope: "exact" },
    words: "read files/notes",
  },
  {
    name: "any action",
    capability: { actions: ["*"], resource: notes, scope: "exact" },
    words: "do anything with files/notes",
  },
  {
    name: "somebody's, with a yes each time",
    capability: {
      actions: ["pay"],
      resource: { ...notes, owner: { kind: "human", userId: "alice" } },
      scope: "exact",
      approval: "each",
    },
    words: "pay files/notes of human:alice, each time only after a person said yes",
  },
] as const) {
  test(`what is allowed is said in words: ${name}`, () => {
    expect(capabilityWords({ ...capability, actions: [...capability.actions] } as never)).toBe(words);
  });
}

test("terms say what is not limited too, and how many uses are left", () => {
  expect(termsOf({})).toEqual([
    ["Purposes", "any"],
    ["Begins", undefined],
    ["Ends", "never"],
    ["Uses", "not counted"],
    ["Passing on", "not allowed"],
  ]);
  const bounded = termsOf({ maxUses: 3, purposes: ["a", "b"], delegationDepth: 2 }, 1);
  expect(bounded.map(([, text]) => text)).toEqual(["a or b", undefined, "never", "1 of 3", "up to 2 times in a row"]);
});

test("terms in one line leave out what is not limited", () => {
  expect(termsText({ maxUses: 3, purposes: ["a"] })).toBe("for a, 3 uses");
  expect(termsText({ maxUses: 1, delegationDepth: 2 }, 1)).toBe("1 of 1 use, passed on up to 2 times in a row");
  expect(termsText({ delegationDepth: 0 })).toBe("");
});

test("a grant of which one part needs a yes each time is marked", () => {
  const plain = { actions: ["read"], resource: notes, scope: "exact" as const };
  expect(asksEachTime({ capabilities: [plain] })).toBe(false);
  expect(asksEachTime({ capabilities: [plain, { ...plain, approval: "each" as const }] })).toBe(true);
});
