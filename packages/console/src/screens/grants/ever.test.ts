import { expect, test } from "vitest";
import { everGroups, everQuestion } from "./ever.ts";

const typed = { actor: "", resource: "", action: "" };

for (const { name, changes, expected } of [
  { name: "nothing is no question", changes: { action: "read" }, expected: undefined },
  {
    name: "a principal is asked about by its kind and id",
    changes: { actor: " agent:assistant " },
    expected: { question: { actor: { kind: "agent", agentId: "assistant" } } },
  },
  {
    name: "a resource is asked about by its namespace and path, with an action where one is typed",
    changes: { resource: "files/notes/", action: " read " },
    expected: { question: { resource: { namespace: "files", path: ["notes"] }, action: "read" } },
  },
  { name: "no principal is a problem", changes: { actor: "assistant" }, expected: { problem: expect.any(String) } },
  { name: "no place is a problem", changes: { resource: "/" }, expected: { problem: expect.any(String) } },
  {
    name: "both are a problem",
    changes: { actor: "agent:assistant", resource: "files" },
    expected: { problem: "Name a principal or a resource, and not both." },
  },
])
  test(`${name}`, () => {
    expect(everQuestion({ ...typed, ...changes })).toEqual(expected);
  });

test("regions are in the order of what they need, each under what that is", () => {
  const region = (how: "held" | "derived" | "approval", id: string) => ({
    subject: "*" as const,
    authority: { kind: "human", userId: "alice" } as const,
    owner: { not: [] },
    namespace: "files",
    path: [],
    scope: "descendants" as const,
    actions: ["read"],
    purposes: { not: [] },
    terms: [{}],
    by: [id],
    how,
    way: [id],
  });
  const groups = everGroups([region("approval", "a"), region("held", "b"), region("approval", "c")]);
  expect(groups.map(({ title, regions }) => [title, regions.map(({ by }) => by[0])])).toEqual([
    ["As the grants are", ["b"]],
    ["Once a person approves", ["a", "c"]],
  ]);
});
