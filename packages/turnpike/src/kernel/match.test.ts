import { describe, expect, test } from "vitest";
import { alice, ask, assistant, capability, olivia, stranger } from "../../test/decisions.ts";
import { isAtOrBelow, isCapabilityWithin, isWithinCeiling, mismatch, nearestMismatch } from "./match.ts";

describe("a path", () => {
  for (const row of [
    { name: "is at or below itself", path: ["a", "b"], ancestor: ["a", "b"], expected: true },
    { name: "is at or below its parent", path: ["a", "b", "c"], ancestor: ["a", "b"], expected: true },
    { name: "is at or below the root", path: ["a"], ancestor: [], expected: true },
    { name: "that is the root is at or below the root", path: [], ancestor: [], expected: true },
    { name: "is not below its child", path: ["a"], ancestor: ["a", "b"], expected: false },
    { name: "that is the root is below nothing", path: [], ancestor: ["a"], expected: false },
    { name: "is not below a sibling that shares a prefix", path: ["a", "bc"], ancestor: ["a", "b"], expected: false },
    {
      name: "is not below what differs in an early segment",
      path: ["x", "b", "c"],
      ancestor: ["a", "b"],
      expected: false,
    },
    { name: "is not below one that differs in case", path: ["A", "b"], ancestor: ["a"], expected: false },
  ]) {
    test(`${row.name}`, () => {
      expect(isAtOrBelow(row.path, row.ancestor)).toBe(row.expected);
    });
  }
});

type Changes = Parameters<typeof capability>[0];

const coverRows: { name: string; granted: Changes; asked: Parameters<typeof ask>[0]; differs?: string }[] = [
  { name: "covers its own path exactly", granted: { scope: "exact", path: ["a", "b"] }, asked: { path: ["a", "b"] } },
  {
    name: "that is exact does not cover a child",
    granted: { scope: "exact", path: ["a", "b"] },
    asked: { path: ["a", "b", "c"] },
    differs: "path",
  },
  {
    name: "that is exact does not cover its parent",
    granted: { scope: "exact", path: ["a", "b"] },
    asked: { path: ["a"] },
    differs: "path",
  },
  { name: "with descendants covers its own path", granted: { path: ["a", "b"] }, asked: { path: ["a", "b"] } },
  { name: "with descendants covers a child", granted: { path: ["a", "b"] }, asked: { path: ["a", "b", "c"] } },
  {
    name: "with descendants covers what is far below",
    granted: { path: ["a"] },
    asked: { path: ["a", "b", "c", "d"] },
  },
  {
    name: "with descendants never covers a sibling that shares a prefix",
    granted: { path: ["a", "b"] },
    asked: { path: ["a", "bc"] },
    differs: "path",
  },
  {
    name: "with descendants does not cover its parent",
    granted: { path: ["a", "b"] },
    asked: { path: ["a"] },
    differs: "path",
  },
  { name: "with descendants at the root covers everything", granted: { path: [] }, asked: { path: ["a", "b"] } },
  { name: "that is exact at the root covers the root", granted: { scope: "exact", path: [] }, asked: { path: [] } },
  {
    name: "that is exact at the root covers nothing else",
    granted: { scope: "exact", path: [] },
    asked: { path: ["a"] },
    differs: "path",
  },
  {
    name: "covers an action that is listed second",
    granted: { actions: ["write", "read"] },
    asked: { action: "read" },
  },
  {
    name: "does not cover an action that is not listed",
    granted: { actions: ["write"] },
    asked: { action: "read" },
    differs: "action",
  },
  { name: "with the wildcard covers every action", granted: { actions: ["*"] }, asked: { action: "purge" } },
  { name: "with the wildcard covers the wildcard itself", granted: { actions: ["*"] }, asked: { action: "*" } },
  {
    name: "without the wildcard does not cover the wildcard",
    granted: { actions: ["read"] },
    asked: { action: "*" },
    differs: "action",
  },
  {
    name: "expands nothing but the wildcard",
    granted: { actions: ["re*"] },
    asked: { action: "read" },
    differs: "action",
  },
  { name: "covers its own namespace", granted: { namespace: "mail" }, asked: { namespace: "mail" } },
  {
    name: "does not cover another namespace",
    granted: { namespace: "mail" },
    asked: { namespace: "documents" },
    differs: "namespace",
  },
  {
    name: "does not cover a namespace that shares a prefix",
    granted: { namespace: "doc" },
    asked: { namespace: "documents" },
    differs: "namespace",
  },
  { name: "without owner covers what names the context's owner", granted: {}, asked: { owner: olivia } },
  {
    name: "without owner does not cover what is another owner's",
    granted: {},
    asked: { owner: alice },
    differs: "owner",
  },
  { name: "of the context's owner covers what names no owner", granted: { owner: olivia }, asked: {} },
  {
    name: "of another owner does not cover what names no owner",
    granted: { owner: alice },
    asked: {},
    differs: "owner",
  },
  {
    name: "of an owner of another kind with the same id does not cover",
    granted: { owner: { kind: "agent", agentId: "olivia" } },
    asked: {},
    differs: "owner",
  },
  {
    name: "that differs in everything differs first in its namespace",
    granted: { namespace: "mail", owner: alice, actions: ["x"], path: ["z"] },
    asked: {},
    differs: "namespace",
  },
  {
    name: "that differs in owner, action and path differs first in its owner",
    granted: { owner: alice, actions: ["x"], path: ["z"] },
    asked: {},
    differs: "owner",
  },
  {
    name: "that differs in action and path differs first in its action",
    granted: { actions: ["x"], path: ["z"] },
    asked: {},
    differs: "action",
  },
];

describe("a capability", () => {
  for (const { name, granted, asked, differs } of coverRows) {
    test(`${name}`, () => {
      expect(mismatch(capability(granted), ask({ path: ["reports"], ...asked }), olivia)).toBe(differs);
    });
  }
});

describe("of several capabilities", () => {
  const elsewhere = capability({ namespace: "mail" });
  const unowned = capability({ owner: stranger });
  const inert = capability({ actions: ["write"] });
  const besides = capability({ path: ["other"] });
  for (const row of [
    {
      name: "one that covers alone is enough, wherever it is",
      capabilities: [elsewhere, besides, capability()],
      expected: undefined,
    },
    {
      name: "the nearest miss is named, not the first",
      capabilities: [elsewhere, unowned, inert, besides],
      expected: "path",
    },
    { name: "the nearest miss is named, not the last", capabilities: [inert, unowned, elsewhere], expected: "action" },
    { name: "an owner that differs is nearer than a namespace", capabilities: [elsewhere, unowned], expected: "owner" },
    { name: "one that is in another namespace is named so", capabilities: [elsewhere], expected: "namespace" },
    {
      name: "the action of one and the path of another never combine",
      capabilities: [inert, besides],
      expected: "path",
    },
  ]) {
    test(`${row.name}`, () => {
      expect(nearestMismatch(row.capabilities, ask(), olivia)).toBe(row.expected);
    });
  }
});

describe("a child capability", () => {
  const rows: { name: string; child: Changes; parent: Changes; within: boolean }[] = [
    { name: "equal to its parent is within", child: {}, parent: {}, within: true },
    { name: "in another namespace is not within", child: { namespace: "mail" }, parent: {}, within: false },
    {
      name: "with fewer actions is within",
      child: { actions: ["read"] },
      parent: { actions: ["write", "read"] },
      within: true,
    },
    {
      name: "with one more action is not within",
      child: { actions: ["read", "write"] },
      parent: { actions: ["read"] },
      within: false,
    },
    {
      name: "with a listed action is within the wildcard",
      child: { actions: ["read", "purge"] },
      parent: { actions: ["*"] },
      within: true,
    },
    {
      name: "with the wildcard is within the wildcard",
      child: { actions: ["*"] },
      parent: { actions: ["*"] },
      within: true,
    },
    {
      name: "with the wildcard is not within a list",
      child: { actions: ["*"] },
      parent: { actions: ["read", "write"] },
      within: false,
    },
    { name: "below its parent's descendants is within", child: { path: ["reports", "q1"] }, parent: {}, within: true },
    {
      name: "that is exact at its parent's descendants is within",
      child: { scope: "exact" },
      parent: {},
      within: true,
    },
    {
      name: "that is exact at its exact parent is within",
      child: { scope: "exact" },
      parent: { scope: "exact" },
      within: true,
    },
    {
      name: "with descendants of its exact parent is not within",
      child: {},
      parent: { scope: "exact" },
      within: false,
    },
    {
      name: "that is exact below its exact parent is not within",
      child: { scope: "exact", path: ["reports", "q1"] },
      parent: { scope: "exact" },
      within: false,
    },
    { name: "above its parent is not within", child: { path: [] }, parent: {}, within: false },
    {
      name: "beside its parent, with a shared prefix, is not within",
      child: { path: ["reports2"] },
      parent: {},
      within: false,
    },
    { name: "of the same owner is within", child: { owner: olivia }, parent: { owner: olivia }, within: true },
    { name: "of another owner is not within", child: { owner: alice }, parent: { owner: olivia }, within: false },
    { name: "that names an owner is within one that names none", child: { owner: alice }, parent: {}, within: true },
    {
      name: "that names no owner is not within one that names one",
      child: {},
      parent: { owner: olivia },
      within: false,
    },
    {
      name: "that needs no approval is not within one that does",
      child: {},
      parent: { approval: "each" },
      within: false,
    },
    {
      name: "that needs approval is within one that does",
      child: { approval: "each" },
      parent: { approval: "each" },
      within: true,
    },
    { name: "that needs approval is within one that does not", child: { approval: "each" }, parent: {}, within: true },
  ];
  for (const row of rows) {
    test(`${row.name}`, () => {
      expect(isCapabilityWithin(capability(row.child), capability(row.parent))).toBe(row.within);
    });
  }
});

describe("a requirement", () => {
  for (const row of [
    { name: "equal to the ceiling is within", requirement: {}, ceiling: {}, within: true },
    {
      name: "below the ceiling is within",
      requirement: { path: ["reports", "q1", "page"] },
      ceiling: {},
      within: true,
    },
    { name: "above the ceiling is not within", requirement: { path: ["reports"] }, ceiling: {}, within: false },
    {
      name: "beside the ceiling, with a shared prefix, is not within",
      requirement: { path: ["reports", "q10"] },
      ceiling: {},
      within: false,
    },
    { name: "for another action is not within", requirement: { action: "write" }, ceiling: {}, within: false },
    {
      name: "for one action is not within a ceiling that says wildcard",
      requirement: {},
      ceiling: { action: "*" },
      within: false,
    },
    { name: "in another namespace is not within", requirement: { namespace: "mail" }, ceiling: {}, within: false },
    {
      name: "of the context's owner is within a ceiling without owner",
      requirement: { owner: olivia },
      ceiling: {},
      within: true,
    },
    {
      name: "without owner is within the context's owner's ceiling",
      requirement: {},
      ceiling: { owner: olivia },
      within: true,
    },
    {
      name: "of another owner is not within a ceiling without owner",
      requirement: { owner: assistant },
      ceiling: {},
      within: false,
    },
  ]) {
    test(`${row.name}`, () => {
      expect(isWithinCeiling(ask(row.requirement), ask(row.ceiling), olivia)).toBe(row.within);
    });
  }
});
