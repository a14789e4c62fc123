import { describe, expect, test } from "vitest";
import { alice, ask, capability, grant, olivia } from "../../test/decisions.ts";
import type { Capability } from "../contracts/index.ts";
import { compileGrant } from "./active.ts";
import { indexCapabilities, lookUp, someWithin, type CapabilityIndex } from "./capability-index.ts";

/** One grant per list of capabilities, at the position of the list. */
function indexOf(...grants: readonly (readonly Capability[])[]): CapabilityIndex {
  return indexCapabilities(
    grants.map((capabilities, place) => {
      const compiled = compileGrant(grant({ id: `grant-${place}`, capabilities: [...capabilities] }));
      if (compiled === undefined) throw new Error("The grant of this test does not fit the contract.");
      return compiled;
    }),
  ).index;
}

describe("finding the grants that cover a request", () => {
  const rows: { name: string; grants: Capability[][]; request: ReturnType<typeof ask>; found: number[] }[] = [
    { name: "none does in an empty set", grants: [], request: ask(), found: [] },
    {
      name: "an exact capability does at its path",
      grants: [[capability({ scope: "exact", path: ["a", "b"] })]],
      request: ask({ path: ["a", "b"] }),
      found: [0],
    },
    {
      name: "an exact capability does not below its path",
      grants: [[capability({ scope: "exact", path: ["a", "b"] })]],
      request: ask({ path: ["a", "b", "c"] }),
      found: [],
    },
    {
      name: "an exact capability does not above its path",
      grants: [[capability({ scope: "exact", path: ["a", "b"] })]],
      request: ask({ path: ["a"] }),
      found: [],
    },
    {
      name: "descendants do at their path and below, at any height",
      grants: [[capability({ path: [] })], [capability({ path: ["a"] })], [capability({ path: ["a", "b"] })]],
      request: ask({ path: ["a", "b"] }),
      found: [0, 1, 2],
    },
    {
      name: "descendants never do for a sibling that shares a prefix",
      grants: [[capability({ path: ["a", "b"] })]],
      request: ask({ path: ["a", "bc"] }),
      found: [],
    },
    {
      name: "descendants do not above their path",
      grants: [[capability({ path: ["a", "b"] })]],
      request: ask({ path: ["a"] }),
      found: [],
    },
    {
      name: "a path through nowhere finds those above it",
      grants: [[capability({ path: ["a"] })], [capability({ path: ["a", "b"] })]],
      request: ask({ path: ["a", "x", "y"] }),
      found: [0],
    },
    {
      name: "the root is covered by what is at the root alone",
      grants: [[capability({ path: [] })], [capability({ path: [], scope: "exact" })], [capability({ path: ["a"] })]],
      request: ask({ path: [] }),
      found: [0, 1],
    },
    {
      name: "the wildcard does, and another action does not",
      grants: [[capability({ actions: ["*"] })], [capability({ actions: ["write"] })]],
      request: ask(),
      found: [0],
    },
    {
      name: "only the wildcard does for the wildcard, and once",
      grants: [[capability({ actions: ["*"] })], [capability({ actions: ["read"] })]],
      request: ask({ action: "*" }),
      found: [0],
    },
    {
      name: "another namespace does not",
      grants: [[capability({ namespace: "mail" })]],
      request: ask(),
      found: [],
    },
    {
      name: "the context's owner does and another owner does not",
      grants: [[capability({ owner: alice })], [capability({ owner: olivia })], [capability()]],
      request: ask(),
      found: [1, 2],
    },
    {
      name: "a grant that covers it in several ways is found once, in order",
      grants: [
        [
          capability({ path: [], actions: ["*"] }),
          capability({ owner: olivia }),
          capability({ actions: ["read", "read"] }),
        ],
        [capability({ owner: olivia, actions: ["*"] })],
        [capability()],
      ],
      request: ask(),
      found: [0, 1, 2],
    },
    {
      name: "grants are found in the order of the set, whatever covers them",
      grants: [[capability({ path: ["reports", "q1"] })], [capability({ owner: olivia })], [capability({ path: [] })]],
      request: ask(),
      found: [0, 1, 2],
    },
    {
      name: "two capabilities of one grant never combine",
      grants: [[capability({ actions: ["write"] }), capability({ path: ["other"] })]],
      request: ask(),
      found: [],
    },
    {
      name: "segments named like members of an object are only names",
      grants: [[capability({ path: ["constructor"] })], [capability({ path: ["__proto__", "toString"] })]],
      request: ask({ path: ["__proto__", "toString", "x"] }),
      found: [1],
    },
    {
      name: "a namespace and an action named like members of an object are not there by themselves",
      grants: [[capability()]],
      request: ask({ namespace: "constructor", action: "toString" }),
      found: [],
    },
  ];
  for (const { name, grants, request, found } of rows) {
    test(`${name}`, () => {
      expect(lookUp(indexOf(...grants), request, olivia)).toEqual(found);
    });
  }

  test("a set of grants as wide as the contract allows is searched without an error", () => {
    const capabilities = Array.from({ length: 64 }, () => capability());
    const compiled = compileGrant(grant({ capabilities }));
    const { index } = indexCapabilities(compiled === undefined ? [] : Array.from({ length: 16_384 }, () => compiled));
    expect(lookUp(index, ask(), olivia)).toHaveLength(16_384);
  });
});

test("what needs approval is found apart from what carries an act by itself", () => {
  const compiled = compileGrant(grant({ capabilities: [{ ...capability(), approval: "each" }] }));
  const { index, guarded } = indexCapabilities(compiled === undefined ? [] : [compiled]);
  expect(lookUp(index, ask(), olivia)).toEqual([]);
  expect(lookUp(guarded, ask(), olivia)).toEqual([0]);
});

describe("finding a grant within a ceiling", () => {
  const rows: { name: string; grants: Capability[][]; ceiling: ReturnType<typeof ask>; some: boolean }[] = [
    { name: "there is none in an empty set", grants: [], ceiling: ask(), some: false },
    {
      name: "a capability at the ceiling is",
      grants: [[capability({ scope: "exact", path: ["a"] })]],
      ceiling: ask({ path: ["a"] }),
      some: true,
    },
    {
      name: "a capability below the ceiling is",
      grants: [[capability({ scope: "exact", path: ["a", "b", "c"] })]],
      ceiling: ask({ path: ["a"] }),
      some: true,
    },
    {
      name: "descendants below the ceiling are",
      grants: [[capability({ path: ["a", "b"] })]],
      ceiling: ask({ path: ["a"] }),
      some: true,
    },
    {
      name: "descendants above the ceiling reach into it",
      grants: [[capability({ path: [] })]],
      ceiling: ask({ path: ["a"] }),
      some: true,
    },
    {
      name: "an exact capability above the ceiling does not",
      grants: [[capability({ scope: "exact", path: [] })]],
      ceiling: ask({ path: ["a"] }),
      some: false,
    },
    {
      name: "a sibling that shares a prefix is not",
      grants: [[capability({ path: ["ab"] })]],
      ceiling: ask({ path: ["a"] }),
      some: false,
    },
    {
      name: "a capability on another branch is not",
      grants: [[capability({ path: ["a", "x"] })]],
      ceiling: ask({ path: ["a", "b"] }),
      some: false,
    },
    { name: "the wildcard is", grants: [[capability({ actions: ["*"] })]], ceiling: ask(), some: true },
    { name: "another action is not", grants: [[capability({ actions: ["write"] })]], ceiling: ask(), some: false },
    { name: "another namespace is not", grants: [[capability({ namespace: "mail" })]], ceiling: ask(), some: false },
    { name: "the context's owner is", grants: [[capability({ owner: olivia })]], ceiling: ask(), some: true },
    { name: "another owner is not", grants: [[capability({ owner: alice })]], ceiling: ask(), some: false },
  ];
  for (const { name, grants, ceiling, some } of rows) {
    test(`${name}`, () => {
      expect(someWithin(indexOf(...grants), ceiling, olivia, () => true)).toBe(some);
    });
  }

  const wide = indexOf(
    [capability({ path: [] })],
    [capability({ path: ["a"], scope: "exact" })],
    [capability({ path: ["a", "b"] })],
    [capability({ actions: ["*"] })],
  );

  test("the search continues until a grant is accepted", () => {
    const seen: number[] = [];
    const like = (position: number): boolean => seen.push(position) > 0 && position === 2;
    expect(someWithin(wide, ask({ path: ["a"] }), olivia, like)).toBe(true);
    expect(seen).toEqual([0, 1, 2]);
  });

  test("none is found when none is accepted", () => {
    expect(someWithin(wide, ask({ path: ["a"] }), olivia, () => false)).toBe(false);
  });
});
