import { describe, expect, test } from "vitest";
import { ask, child, context, grant, lineage, parent, world } from "../../test/decisions.ts";
import type { Budget, Grant } from "../contracts/index.ts";
import { memoryGrants } from "../testing/index.ts";

const day = (limit: string, each?: string): Budget => ({ unit: "EUR", limit, per: "day", ...(each && { each }) });

/** The rule that the chain of the last grant breaks; "valid" when it breaks none. */
async function ruleOf(grants: readonly Grant[]): Promise<string> {
  const held = grants.at(-1) as Grant;
  const { kernel } = world({ ...memoryGrants(grants), load: () => Promise.resolve([held]) });
  const { grants: considered } = await kernel.explain(context(), ask());
  const chain = considered[0]?.chain;
  return chain?.kind === "invalid" ? chain.rule : (chain?.kind ?? "no chain");
}

describe("a child's budget", () => {
  const rows: { name: string; above: Budget[]; below: Budget[]; rule?: string }[] = [
    { name: "may be as large as the parent's", above: [day("20")], below: [day("20.000000")] },
    {
      name: "may not be a millionth larger",
      above: [day("20")],
      below: [day("20.000001")],
      rule: "budget_exceeds_parent",
    },
    {
      name: "is compared exactly, beyond what a floating point number can tell apart",
      above: [day("999999999999.999998")],
      below: [day("999999999999.999999")],
      rule: "budget_exceeds_parent",
    },
    {
      name: "may not let one act take more",
      above: [day("20", "5")],
      below: [day("20", "6")],
      rule: "budget_exceeds_parent",
    },
    {
      name: "may not let one act take more by saying nothing of it",
      above: [day("20", "5")],
      below: [day("20")],
      rule: "budget_exceeds_parent",
    },
    { name: "lets one act take no more than its limit", above: [day("20", "5")], below: [day("5")] },
    { name: "may be larger in another window", above: [day("20")], below: [{ unit: "EUR", limit: "90", per: "week" }] },
    { name: "may be larger in another unit", above: [day("20")], below: [{ ...day("90"), unit: "eur" }] },
    {
      name: "is one for all time where it names no window",
      above: [{ unit: "EUR", limit: "20", per: "total" }],
      below: [{ unit: "EUR", limit: "21" }],
      rule: "budget_exceeds_parent",
    },
    { name: "counts as the smallest of its kind", above: [day("20")], below: [day("30"), day("20")] },
    {
      name: "is compared with the smallest of its kind",
      above: [day("30"), day("20")],
      below: [day("25")],
      rule: "budget_exceeds_parent",
    },
    { name: "may be one that the parent does not have", above: [], below: [day("1")] },
  ];
  for (const { name, above, below, rule = "valid" } of rows) {
    test(name, async () => {
      const budgetsOf = (budgets: Budget[]) => (budgets.length === 0 ? {} : { budgets });
      const grants = [
        parent({ constraints: { delegationDepth: 1, ...budgetsOf(above) } }),
        child({ constraints: budgetsOf(below) }),
      ];
      expect(await ruleOf(grants)).toBe(rule);
    });
  }

  test("is compared with that of every grant above it, also where those between have none", async () => {
    const { leaf, parents } = lineage(3);
    const [root, ...between] = parents as [Grant, ...Grant[]];
    const limited = { ...root, constraints: { ...root.constraints, budgets: [day("20")] } };
    const withLimit = (limit: string): Grant => ({ ...leaf, constraints: { budgets: [day(limit)] } });
    expect(await ruleOf([limited, ...between, withLimit("21")])).toBe("budget_exceeds_parent");
    expect(await ruleOf([limited, ...between, withLimit("20")])).toBe("valid");
  });
});

describe("without a port for budgets", () => {
  test("a grant with budgets allows nothing, and says why", async () => {
    const { kernel } = world([grant({ constraints: { budgets: [day("20")] } })]);
    const decision = await kernel.authorize(context(), ask());
    expect(decision).toStrictEqual({ allowed: false, reasonCode: "budget_store_unavailable" });
  });

  test("nor does one below a grant with budgets", async () => {
    const { kernel } = world([child(), parent({ constraints: { delegationDepth: 1, budgets: [day("20")] } })]);
    expect(await kernel.authorize(context(), ask())).toMatchObject({ reasonCode: "budget_store_unavailable" });
  });

  test("a grant without budgets is tried first, whatever it counts", async () => {
    const limited = grant({ id: "limited", constraints: { budgets: [day("20")] } });
    for (const free of [grant({ id: "free" }), grant({ id: "free", constraints: { maxUses: 1 } })]) {
      const { kernel } = world([limited, free]);
      expect(await kernel.authorize(context(), ask())).toMatchObject({ allowed: true, matchedGrantId: "free" });
    }
  });
});
