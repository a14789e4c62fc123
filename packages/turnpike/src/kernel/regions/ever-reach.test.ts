import { describe, expect, test } from "vitest";
import { alice, assistant, capability, child, grant, lineage, olivia, parent } from "../../../test/decisions.ts";
import type { Grant } from "../../contracts/index.ts";
import { deriveGrant } from "../derive.ts";
import { everReachInSteps, type EverQuestion, type EverReach } from "./ever-reach.ts";

const at = "2026-01-01T12:00:00.000Z";
const helper = { kind: "agent", agentId: "helper" } as const;

function everReach(grants: readonly Grant[], question: Partial<EverQuestion> = {}): EverReach {
  const steps = everReachInSteps(grants, { at, ...question });
  let step = steps.next();
  while (step.done !== true) step = steps.next();
  return step.value;
}

/** Who reaches what, how and by which way. */
function ways(grants: readonly Grant[], question: Partial<EverQuestion> = {}): unknown[] {
  return everReach(grants, question).reach.map(({ subject, authority, path, how, way }) => [
    subject === "*" ? "*" : Object.values(subject)[1],
    Object.values(authority)[1],
    path.join("/"),
    how,
    way.join(" "),
  ]);
}

describe("what a principal could ever do", () => {
  test("is what they hold now or later, and not what has ended", () => {
    const later = grant({
      id: "later",
      capabilities: [capability({ path: ["later"] })],
      issuedAt: "2027-01-01T00:00:00Z",
    });
    const ended = grant({
      id: "ended",
      capabilities: [capability({ path: ["x"] })],
      revokedAt: "2026-01-01T00:00:00Z",
    });
    const { reach } = everReach([grant(), later, ended], { actor: assistant });
    expect(reach.map(({ path, from, how }) => [path, from, how])).toStrictEqual([
      [["reports"], at, "held"],
      [["later"], "2027-01-01T00:00:00.000Z", "held"],
    ]);
  });

  test("is what another holder may hand on to them, on that holder's authority", () => {
    expect(ways([parent()], { actor: helper })).toStrictEqual([["helper", "alice", "reports", "derived", "parent"]]);
    const derived = deriveGrant(parent(), { ...grant(), subject: helper, issuedAt: at, capabilities: [capability()] });
    expect(derived.ok).toBe(true);
  });

  for (const row of [
    { name: "that may not be passed on", grants: [grant()] },
    { name: "that is counted", grants: [parent({ constraints: { delegationDepth: 1, maxUses: 2 } })] },
    { name: "that has ended", grants: [parent({ revokedAt: "2026-01-01T00:00:00Z" })] },
    { name: "that counted until shortly before", grants: [parent({ revokedAt: "2026-01-01T11:59:59Z" })] },
    { name: "whose chain is broken", grants: [parent({ parentId: "missing" })] },
  ])
    test(`is nothing of a grant ${row.name}, when another principal holds it`, () => {
      expect(ways(row.grants, { actor: helper })).toStrictEqual([]);
    });

  test("is what may be handed on by a chain of fewer than 16 links", () => {
    for (const [links, count] of [
      [15, 1],
      [16, 0],
    ] as const) {
      const { leaf, parents } = lineage(links);
      const grants = [...parents, { ...leaf, subject: olivia, constraints: { delegationDepth: 1 } }].map(
        (one, place) => ({
          ...one,
          constraints: { delegationDepth: 20 - place },
        }),
      );
      const handed = everReach(grants, { actor: helper }).reach.filter(
        ({ authority }) => Object.values(authority)[1] === "olivia",
      );
      expect(handed.filter(({ by }) => by.includes(leaf.id))).toHaveLength(count);
    }
  });

  test("leaves out of what may be handed on what they hold on the same authority", () => {
    const wide = parent({ capabilities: [capability({ path: [] })] });
    expect(ways([wide, child()], { actor: assistant })).toStrictEqual([
      ["assistant", "alice", "reports", "held", "parent child"],
      ["assistant", "alice", "", "derived", "parent"],
    ]);
  });

  for (const row of [
    {
      name: "is also what a holder may hand on without the approval that their own grant needs",
      own: grant({ capabilities: [capability({ approval: "each" })] }),
      expected: [
        ["approval", [{ approval: "each" }]],
        ["derived", [{}]],
      ],
    },
    {
      name: "is not what a holder may hand on without the count that their own grant has",
      own: grant({ constraints: { maxUses: 2 } }),
      expected: [["held", [{ maxUses: 2 }]]],
    },
  ])
    test(row.name, () => {
      const { reach } = everReach([parent(), row.own], { actor: assistant });
      expect(reach.map(({ how, terms }) => [how, terms])).toStrictEqual(row.expected);
    });

  test("is what was requested where no grant is yet", () => {
    expect(ways([], { actor: assistant, requested: [grant()] })).toStrictEqual([
      ["assistant", "alice", "reports", "approval", ""],
    ]);
  });

  test("is at most 10,000 regions, and the answer says that there are more", () => {
    const grants = Array.from({ length: 157 }, (_, place) => {
      const paths = Array.from({ length: 64 }, (_one, number) => [`${place}-${number}`]);
      return grant({ id: `${place}`, capabilities: paths.map((path) => capability({ path })) });
    });
    const { reach, more } = everReach(grants, { actor: assistant });
    expect([reach.length, more]).toStrictEqual([10_000, true]);
  });

  test("is what needs approval, and what was requested", () => {
    const guarded = grant({ capabilities: [capability({ approval: "each" })] });
    const requested = [grant({ id: "requested", capabilities: [capability({ path: ["asked"] })], issuedAt: at })];
    expect(ways([guarded], { actor: assistant, requested })).toStrictEqual([
      ["assistant", "alice", "reports", "approval", "grant-1"],
      ["assistant", "alice", "asked", "approval", ""],
    ]);
    expect(ways([guarded], { actor: helper, requested })).toStrictEqual([]);
  });
});

describe("who could ever reach a place", () => {
  test("is who holds it, and every principal to whom a holder may hand it on", () => {
    const place = { namespace: "documents", path: ["reports", "june"] };
    expect(ways([parent(), grant()], { place })).toStrictEqual([
      ["assistant", "alice", "reports/june", "held", "grant-1"],
      ["alice", "olivia", "reports/june", "held", "parent"],
      ["*", "alice", "reports/june", "derived", "parent"],
    ]);
  });

  for (const row of [
    { name: "of another namespace", place: { namespace: "mail", path: ["reports"] } },
    { name: "above what is granted", place: { namespace: "documents", path: [] } },
    { name: "beside what is granted", place: { namespace: "documents", path: ["reports2"] } },
  ])
    test(`is no holder of something ${row.name}`, () => {
      expect(ways([parent()], { place: row.place })).toStrictEqual([]);
    });

  for (const [where, who, path, expected] of [
    ["at", "its holder", ["reports"], [["assistant", "alice", "reports", "held", "grant-1"]]],
    ["below", "no one", ["reports", "june"], []],
  ] as const)
    test(`${where} the one place that a grant covers is ${who}`, () => {
      const exact = grant({ capabilities: [capability({ scope: "exact" })] });
      expect(ways([exact], { place: { namespace: "documents", path } })).toStrictEqual(expected);
    });

  test("is who may do what is asked, by name or as every action", () => {
    const place = { namespace: "documents", path: ["reports"] };
    const every = grant({ id: "every", subject: alice, capabilities: [capability({ actions: ["*"] })] });
    const { reach } = everReach([grant(), every], { place, action: "write" });
    expect(reach.map(({ by, actions }) => [by, actions])).toStrictEqual([[["every"], ["write"]]]);
  });
});

describe("the way that is shown", () => {
  test("is the shortest", () => {
    const direct = grant({ id: "direct" });
    expect(ways([parent(), child(), direct], { actor: assistant })).toStrictEqual([
      ["assistant", "alice", "reports", "held", "direct"],
    ]);
  });

  const guarded = [capability({ approval: "each" })];

  test("to what is derived begins at what may be handed on, also when a grant that is held carries the same with an approval", () => {
    expect(ways([parent(), grant({ capabilities: guarded })], { actor: assistant })).toStrictEqual([
      ["assistant", "alice", "reports", "approval", "grant-1"],
      ["assistant", "alice", "reports", "derived", "parent"],
    ]);
  });

  test("to what needs no approval is a longer one, when the shorter needs one", () => {
    const held = [parent(), child({ id: "z-child" }), grant({ capabilities: guarded })];
    expect(ways(held, { actor: assistant })).toStrictEqual([
      ["assistant", "alice", "reports", "held", "parent z-child"],
    ]);
  });

  test("to what is derived is one without an approval, when there is one", () => {
    const held = [parent({ id: "a-parent", capabilities: guarded }), parent()];
    expect(ways(held, { actor: helper })).toStrictEqual([["helper", "alice", "reports", "derived", "parent"]]);
  });
});

test("a question at an instant that is none is refused", () => {
  expect(() => everReach([], { at: "soon" })).toThrow(new TypeError("Expected `at` to be an RFC 3339 date-time."));
});

for (const row of [
  { name: "of grants", ask: () => everReach({} as Grant[]) },
  { name: "of requested grants", ask: () => everReach([], { requested: {} as Grant[] }) },
])
  test(`a question about something that is no list ${row.name} is refused`, () => {
    expect(row.ask).toThrow(new TypeError("Expected a list of grants."));
  });
