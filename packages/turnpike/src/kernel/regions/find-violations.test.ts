import { describe, expect, test } from "vitest";
import { alice, assistant, capability, child, context, grant, olivia, parent, world } from "../../../test/decisions.ts";
import type { Grant } from "../../contracts/index.ts";
import { findViolationsInSteps, type ViolationOptions } from "./find-violations.ts";
import type { Counterexample, Invariant, Violations } from "./invariant.ts";

const at = "2026-01-01T12:00:00.000Z";
const later = "2026-01-01T13:00:00.000Z";

function violationsOf(
  grants: readonly Grant[],
  rule: Omit<Invariant, "id">,
  options: Partial<ViolationOptions> = {},
): Violations {
  const steps = findViolationsInSteps(grants, [{ id: "rule", ...rule }], { at, ...options });
  for (;;) {
    const step = steps.next();
    if (step.done === true) return step.value;
  }
}

/** The grants of each violation. */
function brokenBy(...args: Parameters<typeof violationsOf>): string[] {
  return violationsOf(...args).violations.map(({ grantIds }) => grantIds.join("+"));
}

const resource = "documents/reports";

describe("a rule that no principal may do something", () => {
  for (const row of [
    { name: "there", never: { resource }, isBroken: true },
    { name: "above", never: { resource: "documents" }, isBroken: true },
    { name: "below", never: { resource: "documents/reports/q1" }, isBroken: true },
    { name: "beside", never: { resource: "documents/reports2" }, isBroken: false },
    { name: "in another namespace", never: { resource: "mail/reports" }, isBroken: false },
    { name: "by this action", never: { resource, action: "read" }, isBroken: true },
    { name: "by another action", never: { resource, action: "write" }, isBroken: false },
    { name: "for this subject", never: { resource, subject: "agent:assistant" }, isBroken: true },
    { name: "for every subject of its kind", never: { resource, subject: "agent:*" }, isBroken: true },
    { name: "for another subject", never: { resource, subject: "agent:other" }, isBroken: false },
    { name: "for every subject of another kind", never: { resource, subject: "human:*" }, isBroken: false },
    {
      name: "unless approved, which it is not",
      never: { resource, unless: { approval: "each" as const } },
      isBroken: true,
    },
    {
      name: "unless for a purpose, which it may have",
      never: { resource, unless: { purpose: "any" } },
      isBroken: true,
    },
    { name: "unless on another's grants", never: { resource, unless: { authority: "human:olivia" } }, isBroken: true },
    { name: "unless on these grants", never: { resource, unless: { authority: "human:alice" } }, isBroken: false },
    { name: "unless on grants of its kind", never: { resource, unless: { authority: "human:*" } }, isBroken: false },
  ])
    test(`${row.name} is ${row.isBroken ? "" : "not "}broken by a grant`, () => {
      expect(brokenBy([grant()], { never: row.never })).toStrictEqual(row.isBroken ? ["grant-1"] : []);
    });

  test("above a place that a grant covers alone is not broken below it", () => {
    const exact = grant({ capabilities: [capability({ scope: "exact" })] });
    expect(brokenBy([exact], { never: { resource: "documents/reports/q1" } })).toStrictEqual([]);
    expect(brokenBy([exact], { never: { resource } })).toStrictEqual(["grant-1"]);
  });

  test("unless all of several conditions hold is broken when one of them does not", () => {
    const guarded = (purposes?: string[]) =>
      grant({ capabilities: [capability({ approval: "each" })], constraints: purposes ? { purposes } : {} });
    const unless = { approval: "each", purpose: "reporting", authority: "human:alice" } as const;
    expect(brokenBy([guarded(["reporting"])], { never: { resource, unless } })).toStrictEqual([]);
    expect(brokenBy([guarded(["reporting", "fun"])], { never: { resource, unless } })).toStrictEqual(["grant-1"]);
    expect(brokenBy([guarded()], { never: { resource, unless } })).toStrictEqual(["grant-1"]);
    const free = grant({ constraints: { purposes: ["reporting"] } });
    expect(brokenBy([free], { never: { resource, unless } })).toStrictEqual(["grant-1"]);
  });

  test("is not broken by what is over, revoked or has a broken chain, and is by what begins later", () => {
    const rule = { never: { resource } };
    expect(brokenBy([grant({ constraints: { expiresAt: at } })], rule)).toStrictEqual([]);
    expect(brokenBy([grant({ revokedAt: "2026-01-01T00:00:00Z" })], rule)).toStrictEqual([]);
    expect(brokenBy([child()], rule)).toStrictEqual([]);
    expect(brokenBy([parent({ constraints: {} }), child()], rule)).toStrictEqual(["parent"]);
    expect(brokenBy([parent({ revokedAt: later }), child()], rule)).toStrictEqual(["parent", "child"]);
    const { violations } = violationsOf([grant({ constraints: { notBefore: later } })], rule);
    expect(violations[0]?.counterexample[0]?.at).toBe(later);
  });
});

describe("a rule that some alone may do something", () => {
  test("is broken by a grant to any other principal, and not by theirs", () => {
    expect(brokenBy([grant()], { only: { subjects: ["agent:assistant", "human:*"], resource } })).toStrictEqual([]);
    expect(brokenBy([grant()], { only: { subjects: ["human:*", "agent:other"], resource } })).toStrictEqual([
      "grant-1",
    ]);
    expect(brokenBy([grant()], { only: { subjects: ["human:*"], resource: "mail" } })).toStrictEqual([]);
  });
});

describe("a rule that no principal may do both of two acts", () => {
  const separate = {
    acts: [
      { action: "create", resource: "payments" },
      { action: "approve", resource: "payments" },
    ],
  } as const;
  const create = grant({
    id: "create",
    capabilities: [capability({ namespace: "payments", path: ["eu"], actions: ["create"] })],
  });
  const approve = grant({
    id: "approve",
    issuer: olivia,
    capabilities: [capability({ namespace: "payments", path: [], actions: ["approve"], owner: olivia })],
  });

  test("is broken by two grants of one principal, for other purposes, on others' grants and of other owners", () => {
    const narrow = { ...approve, constraints: { purposes: ["audit"] } };
    expect(violationsOf([create, narrow], { separate })).toStrictEqual({
      violations: [
        {
          invariant: "rule",
          grantIds: ["create", "approve"],
          counterexample: [
            {
              namespaceId: "tenant-1",
              actor: assistant,
              authority: alice,
              owner: alice,
              purpose: "any",
              action: "create",
              resource: { namespace: "payments", path: ["eu"] },
              at,
            },
            {
              namespaceId: "tenant-1",
              actor: assistant,
              authority: olivia,
              owner: olivia,
              purpose: "audit",
              action: "approve",
              resource: { namespace: "payments", path: [] },
              at,
            },
          ],
        },
      ],
    });
  });

  test("is broken by one grant of both", () => {
    const both = grant({ capabilities: [capability({ namespace: "payments", path: [], actions: ["*"] })] });
    expect(brokenBy([both], { separate })).toStrictEqual(["grant-1"]);
  });

  test("is not broken by one of them, by two principals, or one after the other", () => {
    expect(brokenBy([create], { separate })).toStrictEqual([]);
    expect(brokenBy([create, { ...approve, subject: olivia }], { separate })).toStrictEqual([]);
    const first = { ...create, constraints: { expiresAt: later } };
    const then = { ...approve, constraints: { notBefore: later } };
    expect(brokenBy([first, then], { separate })).toStrictEqual([]);
    const sooner = { ...approve, constraints: { notBefore: "2026-01-01T12:59:59.999Z" } };
    const { violations } = violationsOf([first, sooner], { separate });
    expect(violations[0]?.counterexample.map((one) => one.at)).toStrictEqual([
      "2026-01-01T12:59:59.999Z",
      "2026-01-01T12:59:59.999Z",
    ]);
  });

  test("is broken by the grant that counts for longest of one side, whatever ends before", () => {
    const short = { ...create, id: "short", constraints: { notBefore: at, expiresAt: "2026-01-01T12:30:00Z" } };
    const then = { ...approve, constraints: { notBefore: later } };
    expect(brokenBy([create, short, then], { separate })).toStrictEqual(["create+approve"]);
  });
});

describe("of some grants alone", () => {
  const rule = { never: { resource } };

  test("are those violations in which they have a part, themselves or above another", () => {
    const held = [parent(), child(), grant({ id: "other", subject: olivia })];
    expect(brokenBy(held, rule, { by: new Set(["other"]) })).toStrictEqual(["other"]);
    expect(brokenBy(held, rule, { by: new Set(["parent"]) })).toStrictEqual(["parent", "child"]);
    expect(brokenBy(held, rule, { by: new Set() })).toStrictEqual([]);
  });

  test("are those of two acts of which they carry one, whichever", () => {
    const separate = {
      acts: [
        { action: "read", resource },
        { action: "write", resource },
      ],
    } as const;
    const held = [grant({ id: "reads" }), grant({ id: "writes", capabilities: [capability({ actions: ["write"] })] })];
    for (const id of ["reads", "writes"])
      expect(brokenBy(held, { separate }, { by: new Set([id]) })).toStrictEqual(["reads+writes"]);
    expect(
      brokenBy([...held, grant({ id: "more", subject: olivia })], { separate }, { by: new Set(["more"]) }),
    ).toEqual([]);
  });
});

test("a counterexample is allowed, or waits for a person's approval, as the kernel decides it", async () => {
  const held = [grant({ capabilities: [capability({ actions: ["*"], approval: "each" })] })];
  const { violations } = violationsOf(held, { never: { resource: "documents/reports/q1" } });
  const [{ at: now, action, resource: place, ...access }] = violations.flatMap(
    ({ counterexample }) => counterexample,
  ) as [Counterexample];
  const { kernel } = world(held);
  const decision = await kernel.authorize(context({ ...access, now }), {
    action,
    resource: place,
  });
  expect([decision.allowed, decision.reasonCode]).toStrictEqual([false, "approval_required"]);
});

test("an answer has at most 100 violations, and says that there are more", () => {
  const grants = Array.from({ length: 101 }, (_, place) => grant({ id: `grant-${place}` }));
  const { violations, more } = violationsOf(grants, { never: { resource } });
  expect([violations.length, more]).toStrictEqual([100, true]);
  expect(violationsOf(grants.slice(1), { never: { resource } }).more).toBeUndefined();
});

for (const row of [
  { name: "an instant that is none", ask: () => violationsOf([], {}, { at: "soon" }), message: "Expected `at`" },
  {
    name: "a rule that separates three acts",
    ask: () => violationsOf([grant()], { separate: { acts: [{ resource }, { resource }, { resource }] } }),
    message: "separates 3 acts",
  },
  { name: "a rule without a form", ask: () => violationsOf([grant()], {}), message: "has no form" },
  {
    name: "a place that is none",
    ask: () => violationsOf([], { never: { resource: "crm//eu" } }),
    message: "Expected a namespace",
  },
  {
    name: "grants of two tenants",
    ask: () => violationsOf([grant(), grant({ id: "x", namespaceId: "y" })], { never: { resource } }),
    message: "of one tenant",
  },
])
  test(`a question about ${row.name} is refused`, () => {
    expect(row.ask).toThrow(new RegExp(row.message));
  });
