import { expect, test } from "vitest";
import { reachTree } from "./reach-tree.ts";

const at = (namespace: string, ...path: string[]) => ({
  namespace,
  path,
  actions: ["read"],
  scope: "exact" as const,
  grantIds: ["g"],
});

const shape = (places: ReturnType<typeof reachTree>): unknown =>
  places.map(({ name, entries, children }) => [name, entries.length, ...(shape(children) as unknown[])]);

test("places hang below each other by their steps", () => {
  const tree = reachTree([at("files"), at("files", "notes"), at("files", "notes", "a"), at("mail")]);
  expect(shape(tree)).toEqual([
    ["files", 1, ["notes", 1, ["a", 1]]],
    ["mail", 1],
  ]);
  expect(tree[0]?.children[0]?.children[0]?.resource).toBe("files/notes/a");
});

test("steps at which nothing is said are one with the only place behind them, and stay where two part", () => {
  expect(shape(reachTree([at("files", "a", "b", "c")]))).toEqual([["files/a/b/c", 1]]);
  expect(shape(reachTree([at("files", "a", "b"), at("files", "a", "c")]))).toEqual([
    ["files/a", 0, ["b", 1], ["c", 1]],
  ]);
});

test("two rights at one place are beside each other", () => {
  expect(shape(reachTree([at("files", "a"), at("files", "a")]))).toEqual([["files/a", 2]]);
});
