import { expect, test } from "vitest";
import type { GrantEntry } from "turnpike-host/admin-contract";
import { chainOf, forestOf, grantKey, moveIn, rowLabel, rowsOf, unfolded } from "./grant-tree.ts";
import { cut, layOut, measuresFor } from "./tree-layout.ts";

function entry(id: string, parentId?: string, more: Partial<GrantEntry["grant"]> = {}): GrantEntry {
  return {
    state: "live",
    grant: {
      id,
      namespaceId: "demo",
      subject: { kind: "agent", agentId: `holder-of-${id}` },
      issuer: { kind: "human", userId: "alice" },
      capabilities: [{ resource: { namespace: "files", path: [id] }, actions: ["read"], scope: "exact" }],
      constraints: {},
      issuedAt: "2026-01-01T12:00:00Z",
      ...(parentId !== undefined && { parentId }),
      ...more,
    },
  };
}

const keysOf = (rows: readonly { key: string }[]): string[] => rows.map(({ key }) => key);
const small = [entry("a"), entry("a1", "a"), entry("a11", "a1"), entry("b")];

test("issuers are the roots, and what was derived hangs below its parent", () => {
  const [alice, ...others] = forestOf(small);
  expect(others).toEqual([]);
  expect(alice).toMatchObject({ kind: "issuer", title: "human:alice", below: 4 });
  expect(alice?.children.map(({ title, below }) => [title, below])).toEqual([
    ["agent:holder-of-a", 2],
    ["agent:holder-of-b", 0],
  ]);
});

test("a filter shows the chain above what it wants, and marks it", () => {
  const rows = rowsOf(
    forestOf(small, ({ grant }) => grant.id === "a11"),
    unfolded,
  );
  expect(rows.map(({ key, node }) => [key, node.isContext])).toEqual([
    ["issuer human:alice", false],
    ["grant a", true],
    ["grant a1", true],
    ["grant a11", false],
  ]);
});

test("a filter that wants nothing leaves no issuer behind", () => {
  expect(forestOf(small, () => false)).toEqual([]);
});

test("a grant whose parent was not read hangs below the parent's id", () => {
  expect(keysOf(rowsOf(forestOf([entry("c", "elsewhere")]), unfolded))).toEqual(["unread elsewhere", "grant c"]);
});

test("parents that go round in a circle are each shown once, and end", () => {
  const rows = rowsOf(forestOf([entry("x", "y"), entry("y", "x")]), unfolded);
  expect(keysOf(rows).filter((key) => key.startsWith("grant"))).toEqual(["grant x", "grant y"]);
});

const many = [
  ...Array.from({ length: 300 }, (_, place) => entry(`g${String(place).padStart(3, "0")}`)),
  entry("deep", "g200"),
];

test("of many grants the first ten of an issuer are shown, and how many more there are", () => {
  const rows = rowsOf(forestOf(many), unfolded);
  expect(rows).toHaveLength(12);
  expect(rows.at(-1)).toMatchObject({ kind: "more", more: 290, parent: "issuer human:alice" });
});

test("more of them are shown on request, and none when the issuer is closed", () => {
  const forest = forestOf(many);
  expect(rowsOf(forest, { ...unfolded, shown: new Map([["issuer human:alice", 60]]) })).toHaveLength(62);
  expect(rowsOf(forest, { ...unfolded, toggled: new Set(["issuer human:alice"]) })).toHaveLength(1);
});

test("what is selected is shown, however deep it is and whatever is closed", () => {
  const rows = rowsOf(forestOf(many), { ...unfolded, toggled: new Set(["issuer human:alice"]) }, grantKey("deep"));
  expect(keysOf(rows).slice(-3)).toEqual(["grant g200", "grant deep", "more issuer human:alice"]);
});

test("the chain of a grant is all above it and itself, and nothing beside it", () => {
  const rows = rowsOf(forestOf(small), unfolded);
  expect([...chainOf(rows, "grant a1")]).toEqual(["grant a1", "grant a", "issuer human:alice"]);
  expect(chainOf(rows, undefined).size).toBe(0);
});

for (const { key, at, does } of [
  { key: "ArrowDown", at: "grant a", does: { focus: "grant a1" } },
  { key: "ArrowUp", at: "grant a", does: { focus: "issuer human:alice" } },
  { key: "ArrowUp", at: "issuer human:alice", does: undefined },
  { key: "ArrowDown", at: "grant b", does: undefined },
  { key: "Home", at: "grant b", does: { focus: "issuer human:alice" } },
  { key: "End", at: "grant a", does: { focus: "grant b" } },
  { key: "ArrowRight", at: "grant a", does: { focus: "grant a1" } },
  { key: "ArrowRight", at: "grant b", does: undefined },
  { key: "ArrowLeft", at: "grant a", does: { toggle: "grant a" } },
  { key: "ArrowLeft", at: "grant b", does: { focus: "issuer human:alice" } },
  { key: "x", at: "grant b", does: undefined },
  { key: "Home", at: "gone", does: undefined },
]) {
  test(`${key} at ${at} goes ${JSON.stringify(does ?? "nowhere")}`, () => {
    expect(moveIn(rowsOf(forestOf(small), unfolded), at, key)).toEqual(does);
  });
}

test("to the right of a closed node it opens", () => {
  const rows = rowsOf(forestOf(small), { ...unfolded, toggled: new Set(["grant a"]) });
  expect(moveIn(rows, "grant a", "ArrowRight")).toEqual({ toggle: "grant a" });
});

test("a row is read out with who, what, state and how much is below it", () => {
  const [issuer, a] = rowsOf(forestOf([{ ...entry("a"), state: "revoked" }, entry("a1", "a")]), unfolded);
  expect(issuer && rowLabel(issuer)).toBe("human:alice issuer · 2 grants");
  expect(a && rowLabel(a)).toBe("agent:holder-of-a revoked read files/a, grant a, 1 below");
});

test("in columns a first child is beside its parent and the others below each other, none on another", () => {
  const { placed } = layOut(rowsOf(forestOf(small), unfolded), measuresFor(1000, 4));
  const spots = placed.map(({ x, y }) => `${x} ${y}`);
  expect(new Set(spots).size).toBe(spots.length);
  const [alice, a, a1, a11, b] = placed;
  expect([a?.y, a1?.y, a11?.y]).toEqual([alice?.y, alice?.y, alice?.y]);
  expect(b?.y).toBeGreaterThan(a?.y ?? 0);
  expect(b?.x).toBe(a?.x);
});

test("where it is narrow every row has a line of its own, and the tree is no wider than its frame", () => {
  const { placed, width } = layOut(rowsOf(forestOf(small), unfolded), measuresFor(330, 4));
  expect(new Set(placed.map(({ y }) => y)).size).toBe(5);
  expect(width).toBeLessThanOrEqual(380);
});

test("columns become narrower to fit the frame, and not so narrow that nothing can be read", () => {
  expect(measuresFor(1000, 4).nodeWidth).toBe(212);
  expect(measuresFor(3000, 2).nodeWidth).toBe(340);
  expect(measuresFor(700, 9).nodeWidth).toBe(176);
});

test("a text is cut with a sign that it was", () => {
  expect([cut("abc", 3), cut("abcd", 3)]).toEqual(["abc", "ab…"]);
});
