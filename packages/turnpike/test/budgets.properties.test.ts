import { expect, test } from "vitest";
import { z } from "zod";
import { timesOf } from "../../../tests/support/size.ts";
import type { Amount, Budget, BudgetPeriod, Grant, JsonValue } from "../src/contracts/index.ts";
import { deriveGrant } from "../src/kernel/derive.ts";
import { defineTool, ToolError } from "../src/kernel/index.ts";
import { memoryBudgets } from "../src/testing/index.ts";
import { agent, alice, callOf, capability, contextOf, grantOf, said, worldOf } from "./deployment.ts";
import { createRandom, type Random } from "./random.ts";

const pay = capability("shop", [], "pay");
const units: [string, ...string[]] = ["EUR", "EUR", "mails"];
const periods: [BudgetPeriod, ...BudgetPeriod[]] = ["hour", "day", "week", "month", "total"];
const amounts: [string, ...string[]] = ["0", "0.000001", "0.1", "0.2", "1", "2.5", "3", "7.25", "12"];

/** An amount of the model, exact because all of them are small. */
function millionths(amount: string): number {
  return Math.round(Number(amount) * 1e6);
}

function drawBudgets(random: Random): Budget[] {
  return Array.from({ length: 1 + random.below(3) }, () => {
    const [per, limit] = [random.pick(periods), random.pick(["3", "5.3", "10", "20.000001"])];
    const each = random.chance(0.3) ? { each: random.pick(["1", "2.5", "7.25"]) } : {};
    return { unit: random.pick(units), limit, ...each, ...((per !== "total" || random.chance(0.5)) && { per }) };
  });
}

/** Whether one of these budgets is larger than one of the same unit and window above it. */
function exceeds(budgets: readonly Budget[], above: readonly Grant[]): boolean {
  const higher = above.flatMap(({ constraints }) => constraints.budgets ?? []);
  return budgets.some(({ unit, per = "total", limit, each = limit }) =>
    higher.some(
      (other) =>
        other.unit === unit &&
        (other.per ?? "total") === per &&
        (millionths(limit) > millionths(other.limit) || millionths(each) > millionths(other.each ?? other.limit)),
    ),
  );
}

/** The window of an instant as a text, whose order is that of time. */
function windowOf(per: BudgetPeriod, now: string): string {
  if (per === "total") return "";
  if (per !== "week") return now.slice(0, { hour: 13, day: 10, month: 7 }[per]);
  const day = new Date(now);
  while (day.getUTCDay() !== 1) day.setTime(day.getTime() - 1000 * 3600);
  return day.toISOString().slice(0, 10);
}

interface Entry {
  key: string;
  unit: string;
  window: string;
  amount: number;
}

/** The page on budgets written down a second time: a list of everything that was ever taken, added up each time. */
class NaiveBudgets {
  readonly entries: Entry[] = [];
  readonly grants = new Map<string, Grant>();

  chainOf(grant: Grant): Grant[] {
    const parent = this.grants.get(grant.parentId ?? "");
    return parent === undefined ? [grant] : [grant, ...this.chainOf(parent)];
  }

  windowAt(key: string, per: BudgetPeriod, now: string): string {
    const known = this.entries.filter((entry) => entry.key === key).map(({ window }) => window);
    return [...known, windowOf(per, now)].toSorted().at(-1) ?? "";
  }

  sumOf(key: string, per: BudgetPeriod, now: string): number {
    const window = this.windowAt(key, per, now);
    return this.entries.reduce((sum, one) => sum + (one.key === key && one.window === window ? one.amount : 0), 0);
  }

  /** What an act takes under the first of these grants that can carry it, or why none does. */
  take(held: readonly Grant[], spends: readonly Amount[], now: string): Entry[] | string {
    const found = held.map((grant) => this.takeUnder(grant, spends, now));
    const carried = found.find((one) => typeof one !== "string");
    if (carried !== undefined) {
      this.entries.push(...carried);
      return carried;
    }
    return ["budget_exhausted", "budget_unit", "amount_required"].find((code) => found.includes(code)) ?? "none";
  }

  takeUnder(grant: Grant, spends: readonly Amount[], now: string): Entry[] | string {
    if (spends.length === 0) return "amount_required";
    const taken = new Map<string, Entry>();
    for (const { id, constraints } of this.chainOf(grant)) {
      for (const { unit, limit, per = "total", each = limit } of constraints.budgets ?? []) {
        const named = spends.filter((one) => one.unit === unit);
        if (named.length === 0) continue;
        const amount = named.reduce((sum, one) => sum + millionths(String(one.amount)), 0);
        const key = JSON.stringify([id, unit, per]);
        const left = Math.max(0, millionths(limit) - this.sumOf(key, per, now));
        if (amount > millionths(each) || amount > left) return "budget_exhausted";
        taken.set(key, { key, unit, window: this.windowAt(key, per, now), amount });
      }
    }
    return taken.size === 0 ? "budget_unit" : [...taken.values()];
  }
}

/** How an act ends. `later` means that it is unknown, until an operator settles it. */
type End = { kind: "whole" | "nothing" | "later" } | { kind: "spent"; spent: Amount[] };

function drawAmounts(random: Random): Amount[] {
  return Array.from({ length: random.below(4) }, () => ({ unit: random.pick(units), amount: random.pick(amounts) }));
}

function drawEnd(random: Random, spends: readonly Amount[]): End {
  const kind = random.pick(["whole", "nothing", "later", "spent"]);
  if (kind !== "spent") return { kind: kind as "whole" };
  return { kind, spent: spends.map(({ unit }) => ({ unit, amount: random.pick(amounts) })) };
}

/** Replaces what was taken by what was spent; what is not named was spent whole. */
function settleNaively(entries: readonly Entry[], spent: readonly Amount[]): void {
  for (const entry of entries) {
    const named = spent.filter(({ unit }) => unit === entry.unit);
    if (named.length > 0) entry.amount = named.reduce((sum, one) => sum + millionths(String(one.amount)), 0);
  }
}

/** A world of one or two chains of grants, and twenty to forty acts under them. Returns the first disagreement. */
async function disagreement(random: Random): Promise<unknown> {
  const naive = new NaiveBudgets();
  const store = memoryBudgets();
  const opened: string[] = [];
  const reserve: typeof store.reserve = (id, ...rest) => (opened.push(id), store.reserve(id, ...rest));
  let end: End = { kind: "whole" };
  const tool = defineTool({
    name: "shop.pay",
    description: "Pays.",
    namespace: "shop",
    readWrite: "write",
    input: z.object({ spends: z.unknown() }),
    requires: { action: "pay", resource: pay.resource },
    spends: ({ spends }) => spends as readonly Amount[],
    spent: () => (end.kind === "spent" ? end.spent : undefined),
    run() {
      if (end.kind === "nothing") throw new ToolError("rate_limited", "Nothing ran.");
      if (end.kind === "later") throw new ToolError("tool_interrupted", "It is unknown.");
      return "paid";
    },
  });
  const world = worldOf({ tools: [tool], budgets: { ...store, reserve } });
  const held: Grant[] = [];
  const issue = (grant: Grant): void => {
    naive.grants.set(grant.id, grant);
    world.grants.issue(grant);
    if (grant.subject.kind === "agent") held.push(grant);
  };
  const issueChain = (name: string): void => {
    const links = random.below(4);
    let parent: Grant | undefined;
    for (let link = 0; link <= links; link += 1) {
      const subject = link === links ? agent : alice;
      const id = `${name}-${link}`;
      const constraints = {
        delegationDepth: links - link,
        ...(random.chance(0.6) && { budgets: drawBudgets(random) }),
      };
      const terms = { id, subject, capabilities: [pay], issuedAt: "2026-01-01T00:00:00Z" };
      if (parent === undefined) {
        issue((parent = grantOf(id, { ...terms, constraints: { ...constraints, budgets: drawBudgets(random) } })));
        continue;
      }
      const derived = deriveGrant(parent, { ...terms, constraints });
      // A derivation is compared with its parent alone; a chain that gives out more than a grant further above is never valid.
      const { grant } =
        derived.ok && !exceeds(constraints.budgets ?? [], naive.chainOf(parent))
          ? derived
          : (deriveGrant(parent, { ...terms, constraints: { delegationDepth: links - link } }) as { grant: Grant });
      issue((parent = grant));
    }
  };
  issueChain("one");
  if (random.chance(0.4)) issueChain("two");

  let instant = Date.parse("2026-01-31T20:00:00Z");
  const unsettled: { id: string; entries: Entry[] }[] = [];
  for (let act = 0; act < 20 + random.below(20); act += 1) {
    instant += random.pick([0, 0, 60_000, 3_600_000, 86_400_000, -3_600_000, -86_400_000, 9 * 86_400_000]);
    const now = new Date(instant).toISOString();
    const spends = drawAmounts(random);
    end = drawEnd(random, spends);
    const expected = naive.take(held, spends, now);
    const args = { spends: spends as unknown as JsonValue };
    const context = contextOf({ now, enabledToolNamespaces: ["shop"] });
    const result = await world.kernel.invokeTool(
      context,
      callOf({ tool: "shop.pay", id: `act-${act}`, arguments: args }),
    );
    const ends = { whole: "succeeded", spent: "succeeded", nothing: "rate_limited", later: "tool_interrupted" };
    const wanted = typeof expected === "string" ? expected : ends[end.kind];
    if (said(result) !== wanted) return { act, now, spends, wanted, got: said(result) };
    if (typeof expected !== "string") {
      if (end.kind === "nothing")
        settleNaively(
          expected,
          expected.map(({ unit }) => ({ unit, amount: "0" })),
        );
      if (end.kind === "spent" && end.spent.every(({ unit }) => expected.some((entry) => entry.unit === unit)))
        settleNaively(expected, end.spent);
      if (end.kind === "later") unsettled.push({ id: opened.at(-1) ?? "", entries: expected });
    }
    const open = random.chance(0.3) ? unsettled.shift() : undefined;
    if (open !== undefined) {
      settleNaively(open.entries, [{ unit: "EUR", amount: "0.5" }]);
      const isSettled = await store.settle("demo", open.id, new Map([["EUR", 500_000n]]));
      if (!isSettled) return { act, now, notSettled: open };
    }
    for (const { id, constraints } of naive.grants.values()) {
      for (const { unit, per = "total" } of constraints.budgets ?? []) {
        const [sum] = await store.read([{ namespaceId: "demo", grantId: id, unit, per }], now);
        const taken = naive.sumOf(JSON.stringify([id, unit, per]), per, now);
        if (Number(sum?.taken) !== taken) return { act, now, id, unit, per, wanted: taken, got: Number(sum?.taken) };
      }
    }
  }
  return undefined;
}

test("what is given out of budgets is what a naive model gives out, to the last digit", async () => {
  const worlds = timesOf(50, 30_000);
  for (let number = 0; number < worlds; number += 1) {
    const seed = Number(process.env["TEST_SEED"] ?? 1) * 1_000_000 + number;
    const found = await disagreement(createRandom(seed));
    expect(found === undefined ? "" : JSON.stringify({ seed, found })).toBe("");
  }
});
