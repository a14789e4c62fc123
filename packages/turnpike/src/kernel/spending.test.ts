import { describe, expect, test } from "vitest";
import { z } from "zod";
import {
  alice,
  callOf,
  capability,
  contextOf,
  envelopeOf,
  fails,
  grantOf,
  now,
  operationOf,
  portSecret,
  providerOf,
  said,
  untyped,
  worldOf,
  type World,
} from "../../test/deployment.ts";
import { atomicLedger } from "../../test/memory-ledger.ts";
import type { Amount, Budget, Grant, JsonValue, ToolCall, ToolResult } from "../contracts/index.ts";
import { memoryBudgets, memoryPermits, memoryResources, memoryUsage } from "../testing/index.ts";
import type { BudgetRef, BudgetStore } from "./budget-store.ts";
import type { KernelOptions } from "./ports.ts";
import { defineTool, ToolError, type ToolDefinition } from "./tool.ts";

const context = contextOf({ enabledToolNamespaces: ["shop"] });
const shop = capability("shop", [], "pay");
const euros = (limit: string, changes: Partial<Budget> = {}): Budget => ({
  unit: "EUR",
  limit,
  per: "day",
  ...changes,
});

function limited(id: string, budgets: Budget[], changes: Partial<Grant> = {}): Grant {
  const { constraints, ...others } = changes;
  return grantOf(id, { capabilities: [shop], constraints: { budgets, ...constraints }, ...others });
}

const input = z.object({ to: z.union([z.string(), z.array(z.string())]), spends: z.unknown().optional() });
const resource = { namespace: "shop", path: [] };
const payment = {
  name: "shop.pay",
  description: "Pays.",
  namespace: "shop",
  readWrite: "write",
  input,
  requires: {
    ceiling: { action: "pay", resource },
    of: ({ to }: { to: string | string[] }) =>
      [to].flat().map((one) => ({ action: "pay", resource: { ...resource, path: [one] } })),
  },
  spends: ({ spends }: { spends?: unknown }) => spends as readonly Amount[],
  run: (): JsonValue => "paid",
} as const;

type Payment = Partial<Pick<ToolDefinition<typeof input, z.ZodType<JsonValue, JsonValue>>, "run" | "spent" | "spends">>;

interface Shop extends World {
  budgets: BudgetStore;
  pay(spends?: unknown, changes?: Partial<ToolCall> & { to?: string | string[] }): Promise<ToolResult>;
  /** What is taken of a budget now, in whole units. */
  taken(grantId?: string, changes?: Partial<BudgetRef>): Promise<number>;
}

type Ports = Partial<Omit<KernelOptions, "grants" | "usage">>;

/** A kernel without a ledger, and one with it. Both have to answer alike. */
const kinds: readonly { kind: string; open(grants: readonly Grant[], tool?: Payment, ports?: Ports): Shop }[] = [
  { kind: "ports of their own", open: (grants, tool, ports) => openShop(grants, tool, ports, false) },
  { kind: "one ledger", open: (grants, tool, ports) => openShop(grants, tool, ports, true) },
];

function openShop(grants: readonly Grant[], tool: Payment = {}, ports: Ports = {}, hasLedger = false): Shop {
  const { budgets = memoryBudgets(), permits } = ports;
  const usage = memoryUsage();
  const ledger = hasLedger ? { ledger: atomicLedger(usage, permits, budgets) } : {};
  const tools = [defineTool({ ...payment, ...tool })];
  const world = worldOf({ grants, usage, tools, budgets, ...ledger, ...ports });
  return {
    ...world,
    budgets,
    pay(spends, { to = "bob", ...changes } = {}) {
      const args = { to, ...(spends !== undefined && { spends: untyped<JsonValue>(spends) }) };
      return world.kernel.invokeTool(context, callOf({ tool: "shop.pay", arguments: args, ...changes }));
    },
    async taken(grantId = "limited", changes = {}) {
      const [sum] = await budgets.read([{ namespaceId: "demo", grantId, unit: "EUR", per: "day", ...changes }], now);
      return Number(sum?.taken) / 1e6;
    },
  };
}

const eur = (amount: string | number): Amount[] => [{ unit: "EUR", amount }];
const errorOf = (result: ToolResult): unknown => ("error" in result ? result.error : result.status);

describe.each(kinds)("budgets of a kernel with $kind", ({ kind, open }) => {
  test("are taken up to the limit, and the refusal says what is left, until when and of which grant", async () => {
    const { pay, taken } = open([limited("limited", [euros("20")])]);
    expect(said(await pay(eur("12.5")))).toBe("succeeded");
    expect(errorOf(await pay(eur("7.500001")))).toEqual({
      code: "budget_exhausted",
      message: "The act asks for more than a budget of the grant has left, or lets one act spend.",
      retryable: false,
      details: {
        unit: "EUR",
        asked: "7.500001",
        left: "7.5",
        resetsAt: "2026-01-02T00:00:00.000Z",
        grantId: "limited",
      },
    });
    expect(said(await pay(eur(7.5)))).toBe("succeeded");
    expect(said(await pay(eur("0.000001")))).toBe("budget_exhausted");
    expect(said(await pay(eur("0")))).toBe("succeeded");
    expect(await taken()).toBe(20);
  });

  const rows: { name: string; spends?: unknown; expected: string; budgets?: Budget[]; taken?: number }[] = [
    { name: "an act without amounts", expected: "amount_required" },
    { name: "an act with an empty list", spends: [], expected: "amount_required" },
    { name: "a malformed amount", spends: eur("1e3"), expected: "amount_required" },
    { name: "a negative amount", spends: eur(-1), expected: "amount_required" },
    { name: "a number with more than six decimals", spends: eur(0.1 + 0.2), expected: "amount_required" },
    { name: "a number that is too large", spends: eur(1e21), expected: "amount_required" },
    { name: "something that is no list", spends: "EUR 5", expected: "amount_required" },
    { name: "an act in another unit", spends: [{ unit: "eur", amount: "1" }], expected: "budget_unit" },
    { name: "a number of six decimals", spends: eur(0.1), expected: "succeeded", taken: 0.1 },
    { name: "an act of the whole limit", spends: eur("20"), expected: "succeeded", taken: 20 },
    {
      name: "amounts of one unit, which are added before they are compared",
      spends: [...eur("3"), ...eur("3")],
      budgets: [euros("20", { each: "5" })],
      expected: "budget_exhausted",
    },
    {
      name: "more than one act may take",
      spends: eur("5.000001"),
      budgets: [euros("20", { each: "5" })],
      expected: "budget_exhausted",
    },
    {
      name: "as much as one act may take",
      spends: eur("5"),
      budgets: [euros("20", { each: "5" })],
      expected: "succeeded",
      taken: 5,
    },
    {
      name: "a unit beside the one that has a budget",
      spends: [...eur("2"), { unit: "mails", amount: "900" }],
      expected: "succeeded",
      taken: 2,
    },
    {
      name: "an act that fits into one of two windows",
      spends: eur("9"),
      budgets: [euros("20"), euros("8", { per: "total" })],
      expected: "budget_exhausted",
    },
  ];
  for (const { name, spends, expected, budgets = [euros("20")], taken: after = 0 } of rows) {
    test(`answer ${name} with ${expected}`, async () => {
      const { pay, taken } = open([limited("limited", budgets)]);
      expect(said(await pay(spends))).toBe(expected);
      expect(await taken()).toBe(after);
    });
  }

  test("say the least that is left of the unit, and of windows with as little the one that ends last", async () => {
    const { pay } = open([
      limited("limited", [euros("20"), euros("9", { per: "month" }), euros("9", { per: "hour", each: "1" })]),
    ]);
    const details = { unit: "EUR", asked: "2", left: "9", resetsAt: "2026-02-01T00:00:00.000Z", grantId: "limited" };
    expect(errorOf(await pay(eur("2")))).toMatchObject({ code: "budget_exhausted", details });
    const total = open([limited("limited", [euros("5", { per: "total" })])]);
    expect(errorOf(await total.pay(eur("6")))).toMatchObject({
      details: { unit: "EUR", asked: "6", left: "5", grantId: "limited" },
    });
  });

  test("are not looked at under a grant without budgets, which goes first", async () => {
    const free = grantOf("free", { capabilities: [shop], constraints: { maxUses: 1 } });
    const { pay, taken, events } = open([limited("limited", [euros("20")]), free]);
    expect(said(await pay("nonsense"))).toBe("succeeded");
    expect(said(await pay(eur("1")))).toBe("succeeded");
    expect(await taken()).toBe(1);
    expect(events.every(({ outcome }) => outcome !== "denied")).toBe(true);
  });

  test("let the next grant carry what the first has no more", async () => {
    const { pay, taken } = open([limited("limited", [euros("5")]), limited("other", [euros("5", { per: "total" })])]);
    for (const expected of ["succeeded", "succeeded", "budget_exhausted"])
      expect(said(await pay(eur("4")))).toBe(expected);
    expect([await taken(), await taken("other", { per: "total" })]).toEqual([4, 4]);
  });

  test("name the most telling of several refusals", async () => {
    const refused = async (...grants: Grant[]): Promise<string> => said(await open(grants).pay(eur("9")));
    const [unit, short] = [limited("unit", [{ unit: "mails", limit: "9" }]), limited("short", [euros("5")])];
    expect(await refused(unit, short)).toBe("budget_exhausted");
    expect(await refused(unit)).toBe("budget_unit");
  });

  test("of a chain are all taken, from each grant once, and the grant that was tried is named", async () => {
    const root = limited("root", [euros("20")], {
      subject: alice,
      constraints: { budgets: [euros("20")], delegationDepth: 3 },
    });
    const below = (id: string, parentId: string, delegationDepth: number, budgets?: Budget[]): Grant =>
      grantOf(id, {
        capabilities: [shop],
        parentId,
        constraints: { delegationDepth, ...(budgets && { budgets }) },
        ...(delegationDepth > 0 && { subject: alice }),
      });
    const grants = [
      root,
      below("middle", "root", 2),
      below("lower", "middle", 1, [euros("20", { each: "20" })]),
      below("leaf", "lower", 0, [euros("20", { per: "week" })]),
    ];
    const { pay, taken } = open(grants);
    expect(errorOf(await pay(eur("22")))).toMatchObject({ details: { left: "20", grantId: "leaf" } });
    expect(said(await pay(eur("12")))).toBe("succeeded");
    expect([await taken("root"), await taken("lower"), await taken("leaf", { per: "week" })]).toEqual([12, 12, 12]);
    expect(errorOf(await pay(eur("9")))).toMatchObject({
      code: "budget_exhausted",
      details: { left: "8", grantId: "leaf" },
    });
    expect([await taken("root"), await taken("leaf", { per: "week" })]).toEqual([12, 12]);
  });

  test("above a grant make it one with budgets, which is tried after one without", async () => {
    const root = limited("root", [], { subject: alice, constraints: { budgets: [euros("20")], delegationDepth: 1 } });
    const leaf = grantOf("leaf", { capabilities: [shop], parentId: "root" });
    const { pay, taken } = open([root, leaf, grantOf("free", { capabilities: [shop] })]);
    expect(said(await pay(eur("1")))).toBe("succeeded");
    expect(await taken("root")).toBe(0);
  });

  test("are taken together with a use, or not at all", async () => {
    const { pay, taken, usage } = open([
      limited("limited", [euros("20")], { constraints: { budgets: [euros("20")], maxUses: 2 } }),
    ]);
    expect(said(await pay(eur("21")))).toBe("budget_exhausted");
    expect(await usage.used("demo", "limited")).toBe(0);
    for (const expected of ["succeeded", "succeeded", "grant_exhausted"])
      expect(said(await pay(eur("1")))).toBe(expected);
    expect([await taken(), await usage.used("demo", "limited")]).toEqual([2, 2]);
  });

  test("of several requirements are taken once from each grant that carries one", async () => {
    const place = (path: string) => ({ ...shop, resource: { namespace: "shop", path: [path] } });
    const grants = [
      limited("limited", [euros("20")], { capabilities: [place("bob"), place("carol")] }),
      limited("dave", [euros("9")], { capabilities: [place("dave")] }),
    ];
    const { pay, taken } = open(grants);
    expect(said(await pay(eur("6"), { to: ["bob", "carol", "dave"] }))).toBe("succeeded");
    expect([await taken(), await taken("dave")]).toEqual([6, 6]);
    const refused = await pay(eur("6"), { to: ["bob", "dave"] });
    expect(errorOf(refused)).toMatchObject({ code: "budget_exhausted", details: { left: "3", grantId: "dave" } });
    expect([await taken(), await taken("dave")]).toEqual([6, 6]);
  });

  test("that are short leave the permit of the act, and no person is asked about an act that does not fit", async () => {
    const permits = memoryPermits({ escalationMs: 3_600_000 });
    const grant = limited("limited", [euros("20")], { capabilities: [{ ...shop, approval: "each" }] });
    const budgets = memoryBudgets();
    const { pay, taken } = open([grant], {}, { permits, budgets });
    expect(said(await pay(eur("21")))).toBe("budget_exhausted");
    expect(permits.asked).toHaveLength(0);
    const waiting = await pay(eur("15"));
    expect(said(waiting)).toBe("approval_required");
    expect(permits.asked[0]).toMatchObject({ act: { kind: "tool", spends: [{ unit: "EUR", amount: "15" }] } });
    permits.approve(permits.asked[0]?.id ?? "", { by: "alice", at: now });
    const other = {
      namespaceId: "demo",
      grantId: "limited",
      unit: "EUR",
      per: "day",
      amount: 6_000_000n,
      limit: 20_000_000n,
    } as const;
    await budgets.reserve("other", [other], now);
    expect(said(await pay(eur("15")))).toBe("budget_exhausted");
    await budgets.settle("demo", "other", new Map([["EUR", 0n]]));
    expect(said(await pay(eur("15")))).toBe("succeeded");
    expect(await taken()).toBe(15);
    expect(said(await pay(eur("15")))).not.toBe("succeeded");
  });

  describe("are settled", () => {
    const reported: { name: string; tool: Payment; taken: number; says?: string }[] = [
      { name: "whole without a word of the tool", tool: {}, taken: 15 },
      { name: "as the tool says of its output", tool: { spent: () => eur("4") }, taken: 4 },
      { name: "whole when it says more than was reserved", tool: { spent: () => eur("25") }, taken: 25 },
      { name: "whole when it says nothing", tool: { spent: () => undefined }, taken: 15 },
      { name: "whole when what it says is malformed", tool: { spent: () => eur("4,5") }, taken: 15 },
      { name: "whole when it names another unit", tool: { spent: () => [{ unit: "USD", amount: "1" }] }, taken: 15 },
      {
        name: "whole when it throws",
        tool: {
          spent() {
            throw new Error(portSecret);
          },
        },
        taken: 15,
      },
      {
        name: "whole when the call failed",
        tool: {
          run() {
            throw new ToolError("card_refused", "No.");
          },
        },
        taken: 15,
        says: "card_refused",
      },
      {
        name: "with nothing when the tool says that nothing ran",
        tool: {
          run() {
            throw new ToolError("rate_limited", "Later.");
          },
        },
        taken: 0,
        says: "rate_limited",
      },
    ];
    for (const { name, tool, taken: after, says = "succeeded" } of reported) {
      test(name, async () => {
        const { pay, taken } = open([limited("limited", [euros("20")])], tool);
        expect(said(await pay(eur("15")))).toBe(says);
        expect(await taken()).toBe(after);
      });
    }

    const caller = new AbortController();
    const cutOff: { name: string; run: () => Promise<never>; toolTimeoutMs?: number }[] = [
      {
        name: "the caller went while the tool ran",
        run() {
          caller.abort();
          return Promise.reject(new Error("The connection is gone."));
        },
      },
      { name: "the tool took too long", run: () => new Promise(() => {}), toolTimeoutMs: 1 },
      {
        name: "the tool says that it was interrupted",
        run: () => Promise.reject(new ToolError("tool_interrupted", "It may have happened.")),
      },
    ];
    for (const { name, run, toolTimeoutMs } of cutOff) {
      test(`later, when ${name}`, async () => {
        const settled: string[] = [];
        const store = memoryBudgets();
        const budgets: BudgetStore = { ...store, settle: (...args) => (settled.push(args[1]), store.settle(...args)) };
        const ports = { budgets, ...(toolTimeoutMs !== undefined && { toolTimeoutMs }) };
        const { kernel, taken } = open([limited("limited", [euros("20")])], { run }, ports);
        const call = callOf({ tool: "shop.pay", arguments: { to: "bob", spends: untyped<JsonValue>(eur("15")) } });
        const options = name.startsWith("the caller") ? { signal: caller.signal } : {};
        await kernel.invokeTool(context, call, options).catch(() => {});
        expect([await taken(), settled]).toEqual([15, []]);
      });
    }
  });

  test("of a store that does not answer, or answers nonsense, let nothing happen", async () => {
    const ran: string[] = [];
    const tool: Payment = { run: () => (ran.push("paid"), "paid") };
    const store = memoryBudgets();
    for (const [name, broken] of Object.entries({
      reading: { ...store, read: fails, reserve: fails },
      nonsense: { ...store, reserve: () => Promise.resolve(untyped<boolean>("true")) },
    })) {
      const { pay, kernel } = open([limited("limited", [euros("20")])], tool, { budgets: broken });
      const result = await pay(eur("1"));
      expect([name, result.status === "succeeded", ran]).toEqual([name, false, []]);
      expect(JSON.stringify(result)).not.toContain(portSecret);
      if (broken.read === store.read) continue;
      const decision = await kernel.authorize(context, { action: "pay", resource, spends: eur("1") });
      expect(decision).toEqual({ allowed: false, reasonCode: "budget_store_unavailable" });
    }
  });

  test("are given back when the decision cannot be recorded", async () => {
    const { pay, taken, portErrors } = open([limited("limited", [euros("20")])], {}, { audit: { record: fails } });
    // The ledger recorded the decision itself, so that only the outcome is lost.
    const isDecided = kind === "one ledger";
    expect(said(await pay(eur("15")))).toBe(isDecided ? "succeeded" : "audit_unavailable");
    expect([await taken(), portErrors]).toEqual([isDecided ? 15 : 0, []]);
  });
});

describe("authorize", () => {
  const asked = { action: "pay", resource: { namespace: "shop", path: ["bob"] } };

  test("says whether an act fits, and reserves nothing", async () => {
    const { kernel, taken } = openShop([limited("limited", [euros("20", { each: "15" })])]);
    const decide = (spends?: Amount[]) => kernel.authorize(context, { ...asked, ...(spends && { spends }) });
    expect(await decide(eur("15"))).toEqual({ allowed: true, reasonCode: "allowed", matchedGrantId: "limited" });
    expect(await decide(eur("15"))).toMatchObject({ allowed: true });
    expect(await decide(eur("16"))).toEqual({
      allowed: false,
      reasonCode: "budget_exhausted",
      metadata: { unit: "EUR", asked: "16", left: "20", resetsAt: "2026-01-02T00:00:00.000Z", grantId: "limited" },
    });
    expect(await decide()).toEqual({ allowed: false, reasonCode: "amount_required" });
    expect(await decide(eur("1e9"))).toEqual({ allowed: false, reasonCode: "invalid_request" });
    expect(await taken()).toBe(0);
  });

  test("is explained with amounts too", async () => {
    const { kernel } = openShop([limited("limited", [euros("20")])]);
    const explain = async (spends: Amount[]) => {
      const { decision, grants } = await kernel.explain(context, { ...asked, spends });
      return [decision.reasonCode, grants[0]?.failed];
    };
    expect(await explain(eur("20"))).toEqual(["allowed", undefined]);
    expect(await explain(eur("21"))).toEqual(["budget_exhausted", "budget_exhausted"]);
  });

  test("of what belongs to another owner is refused, with amounts too", async () => {
    const { kernel } = openShop([limited("limited", [euros("20")])]);
    const foreign = { ...asked, resource: { ...asked.resource, owner: { kind: "human", userId: "bob" } as const } };
    expect(await kernel.authorize(context, { ...foreign, spends: eur("1") })).toMatchObject({
      reasonCode: "invalid_request",
    });
  });
});

test("resource operations, messages and turns name no amount, so a grant with budgets carries none", async () => {
  const everything = [
    capability("files", [], "read"),
    capability("service.messaging", [], "send"),
    capability("service.execution", [], "invoke"),
  ];
  const grants = [limited("limited", [euros("20")], { capabilities: everything })];
  const { kernel } = worldOf({ grants, budgets: memoryBudgets(), resources: [memoryResources("files")] });
  expect(said(await kernel.invokeResource(context, operationOf()))).toBe("amount_required");
  expect(said(await kernel.sendMessage(context, envelopeOf()))).toBe("amount_required");
  expect(await kernel.admitTurn(context, { agent: { kind: "agent", agentId: "helper" } })).toMatchObject({
    kind: "refused",
    reason: "amount_required",
  });
});

test("what a call took counts for what its tool asks about later, and reach and catalogs do not look at budgets", async () => {
  const covered: boolean[] = [];
  const grants = [limited("limited", [euros("20")], { constraints: { budgets: [euros("20")], maxUses: 1 } })];
  const shopOf = openShop(
    grants,
    {
      async run(_args, { call }) {
        for (const action of ["pay", "refund"])
          covered.push(await shopOf.kernel.covers(call, { action, resource: { namespace: "shop", path: ["carol"] } }));
        return "paid";
      },
    },
    { policy: { narrow: () => undefined } },
  );
  expect(await shopOf.kernel.listTools(context)).toHaveLength(1);
  expect(said(await shopOf.pay(eur("20")))).toBe("succeeded");
  expect(covered).toEqual([true, false]);
});

test("a tool whose `spends` throws is denied its grant with budgets, and the operator is told why", async () => {
  const { pay, portErrors } = openShop([limited("limited", [euros("20")])], {
    spends() {
      throw new Error(portSecret);
    },
  });
  expect(said(await pay(eur("1")))).toBe("amount_required");
  expect(portErrors).toMatchObject([{ failure: { port: "tools", id: "shop.pay" } }]);
});

test("a tool that does not say what it costs is carried by no grant with budgets", async () => {
  const { spends: _left, ...silent } = payment;
  const { kernel } = worldOf({
    grants: [limited("limited", [euros("20")])],
    toolProviders: [providerOf("shop", ["shop"], () => Promise.resolve([defineTool(silent)]))],
    budgets: memoryBudgets(),
  });
  const call = callOf({ tool: "shop.pay", arguments: { to: "bob" } });
  expect(said(await kernel.invokeTool(context, call))).toBe("amount_required");
});
