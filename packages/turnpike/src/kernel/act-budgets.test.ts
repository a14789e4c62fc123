import { expect, test } from "vitest";
import { contextOf, fails, grantOf, later, needs, now, rejection, worldOf } from "../../test/deployment.ts";
import { atomicLedger } from "../../test/memory-ledger.ts";
import type { ActOutcome, ActRequest, Amount } from "../contracts/index.ts";
import { memoryActs, memoryBudgets, memoryUsage } from "../testing/index.ts";
import type { ActStore } from "./act-store.ts";

const eur = (amount: string): Amount[] => [{ unit: "EUR", amount }];
const request: ActRequest = {
  version: 1,
  id: "act-1",
  tool: "pay",
  needs: [needs("notes", "today"), needs("notes", "tomorrow")],
  spends: eur("15"),
  requestedAt: now,
  traceId: "trace-1",
};

type Reported = Partial<Pick<ActOutcome, "spent">> & { nothingHappened?: true; isFailed?: true };

function outcomeOf({ spent, nothingHappened, isFailed }: Reported): ActOutcome {
  const common = { version: 1 as const, traceId: "trace-1", ...(spent && { spent }) };
  if (nothingHappened === undefined && isFailed === undefined) return { ...common, status: "succeeded" };
  const error = { code: "no_disk", message: "No.", ...(nothingHappened && { nothingHappened }) };
  return { ...common, status: "failed", error };
}

/** A kernel with one grant of 20 EUR a day. */
function shopOf({ hasLedger = false, acts = memoryActs() }: { hasLedger?: boolean; acts?: ActStore } = {}) {
  const [budgets, usage] = [memoryBudgets(), memoryUsage()];
  const grants = [grantOf("limited", { constraints: { budgets: [{ unit: "EUR", limit: "20", per: "day" }] } })];
  const ledger = hasLedger ? { ledger: atomicLedger(usage, undefined, budgets) } : {};
  const { kernel } = worldOf({ grants, usage, budgets, acts, ...ledger });
  const begin = async (changes: Partial<ActRequest> = {}): Promise<unknown> => {
    const beginning = await kernel.beginAct(contextOf(), { ...request, ...changes });
    if (beginning.kind === "refused") return beginning.code;
    return beginning.state.status === "denied" ? beginning.state.error.code : beginning.state.status;
  };
  const finish = (reported: Reported, at = now) =>
    kernel.finishAct(contextOf({ now: at }), "act-1", outcomeOf(reported));
  const taken = async (): Promise<number> => {
    const [sum] = await budgets.read([{ namespaceId: "demo", grantId: "limited", unit: "EUR", per: "day" }], now);
    return Number(sum?.taken) / 1e6;
  };
  return { kernel, begin, finish, taken };
}

for (const hasLedger of [false, true]) {
  const name = hasLedger ? "with a ledger" : "without one";

  test(`an act reserves its amounts once, however much it needs, and one that does not fit is denied, ${name}`, async () => {
    const { begin, taken } = shopOf({ hasLedger });
    expect([await begin({ spends: undefined }), await begin({ spends: [] })]).toEqual([
      "amount_required",
      "amount_required",
    ]);
    expect(await begin({ dryRun: true })).toBe("allowed");
    expect([await begin(), await taken()]).toEqual(["allowed", 15]);
    expect([await begin({ id: "act-2", spends: eur("5.000001") }), await taken()]).toEqual(["budget_exhausted", 15]);
    expect([await begin({ id: "act-2", spends: eur("5") }), await taken()]).toEqual(["allowed", 20]);
  });

  for (const { ends, reported, at = now, after } of [
    { ends: "that succeeded", reported: {}, after: 15 },
    { ends: "that failed", reported: { isFailed: true }, after: 15 },
    { ends: "that cost less", reported: { spent: eur("4.5") }, after: 4.5 },
    { ends: "that failed and cost less", reported: { isFailed: true, spent: eur("1") }, after: 1 },
    { ends: "that cost more", reported: { spent: eur("30") }, after: 30 },
    { ends: "of which nothing happened", reported: { nothingHappened: true }, after: 0 },
    { ends: "of which nothing happened, after its lease", reported: { nothingHappened: true }, at: later, after: 15 },
  ] as { ends: string; reported: Reported; at?: string; after: number }[]) {
    test(`an act ${ends} leaves ${after} taken, once, ${name}`, async () => {
      const { begin, finish, taken } = shopOf({ hasLedger });
      await begin();
      await finish(reported, at);
      await finish(reported, at);
      expect(await taken()).toBe(after);
    });
  }
}

test("an outcome in a unit in which nothing was reserved is refused, and settles nothing", async () => {
  const { begin, finish, taken } = shopOf();
  await begin();
  expect(await rejection(finish({ spent: [{ unit: "USD", amount: "1" }] }))).toMatchObject({ code: "invalid_request" });
  expect(await taken()).toBe(15);
  await finish({ spent: eur("2") });
  expect(await taken()).toBe(2);
});

test("an act that ran out of its lease stays reserved, and one that could not be stored is given back", async () => {
  const { begin, kernel, taken } = shopOf();
  await begin();
  const state = await kernel.getAct(contextOf({ now: later }), "act-1", { traceId: "trace-1" });
  expect([state.status, await taken()]).toEqual(["interrupted", 15]);
  const stored = memoryActs();
  const broken: ActStore = { ...stored, begin: async (_key, _act, decide) => (await decide(undefined), fails()) };
  const failing = shopOf({ acts: broken });
  await rejection(failing.begin());
  expect(await failing.taken()).toBe(0);
});
