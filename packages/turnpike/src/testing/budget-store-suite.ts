import type { BudgetPeriod } from "../contracts/index.ts";
import type { BudgetStore, Reservation, Spent } from "../kernel/index.ts";
import { expectSame, type PortCase } from "./port-case.ts";

const noon = "2026-01-01T12:00:00Z";

function reservation(amount: number | bigint, changes: Partial<Reservation> = {}): Reservation {
  const budget = { namespaceId: "tenant-1", grantId: "grant-1", unit: "EUR", per: "day" as BudgetPeriod };
  return { ...budget, limit: 20n, amount: BigInt(amount), ...changes };
}

const spent = (amount: number, unit = "EUR"): Spent => new Map([[unit, BigInt(amount)]]);

/** What is taken from a budget, as a text. */
async function takenOf(store: BudgetStore, changes: Partial<Reservation> = {}, now = noon): Promise<string> {
  const [sum] = await store.read([reservation(0, changes)], now);
  return String(sum?.taken);
}

/**
 * Whether a store of budgets never gives out more than there is, also when many take at once and when its clock goes back. `open`
 * returns a store in which nothing was taken.
 *
 * @example
 * import { budgetStoreSuite, memoryBudgets } from "turnpike/testing";
 *
 * const cases = budgetStoreSuite(async () => memoryBudgets());
 * for (const { run } of cases) await run();
 * console.log(cases.length > 0); // true
 */
export function budgetStoreSuite(open: () => Promise<BudgetStore>): PortCase[] {
  return [
    {
      name: "takes up to the limit and not a millionth beyond",
      async run() {
        const store = await open();
        const taken = [];
        for (const [place, amount] of [12, 9, 8, 1, 0].entries())
          taken.push(await store.reserve(`act-${place}`, [reservation(amount)], noon));
        expectSame(taken, [true, false, true, false, true], "five attempts at a limit of 20");
        expectSame(await takenOf(store), "20", "what is taken");
      },
    },
    {
      name: "counts exactly beyond what a floating point number can",
      async run() {
        const store = await open();
        const limit = 999_999_999_999_999_999n;
        await store.reserve("act-1", [reservation(limit - 1n, { limit })], noon);
        expectSame(await store.reserve("act-2", [reservation(2n, { limit })], noon), false, "two millionths of one");
        expectSame(await store.reserve("act-3", [reservation(1n, { limit })], noon), true, "the last millionth");
        expectSame(await takenOf(store, { limit }), String(limit), "what is taken");
      },
    },
    {
      name: "takes from all budgets of an act or from none",
      async run() {
        const store = await open();
        const above = { grantId: "grant-0", limit: 10n };
        const both = (amount: number): Reservation[] => [reservation(amount), reservation(amount, above)];
        expectSame(await store.reserve("act-1", both(11), noon), false, "more than one of the two has");
        expectSame([await takenOf(store), await takenOf(store, above)], ["0", "0"], "what a refusal took");
        expectSame(await store.reserve("act-2", both(10), noon), true, "what both have");
        expectSame([await takenOf(store), await takenOf(store, above)], ["10", "10"], "what is taken");
      },
    },
    {
      name: "separates tenants, grants, units and windows of other lengths",
      async run() {
        const store = await open();
        await store.reserve("act-1", [reservation(20)], noon);
        const others: Partial<Reservation>[] = [
          { namespaceId: "tenant-2" },
          { grantId: "grant-2" },
          { unit: "eur" },
          { per: "total" },
        ];
        for (const [place, other] of others.entries()) {
          const isTaken = await store.reserve(`other-${place}`, [reservation(20, other)], noon);
          expectSame(isTaken, true, `a whole limit beside it, ${JSON.stringify(other)}`);
        }
        expectSame(await store.reserve("act-2", [reservation(1)], noon), false, "more of the first");
      },
    },
    {
      name: "gives back what was not spent, once",
      async run() {
        const store = await open();
        await store.reserve("act-1", [reservation(20)], noon);
        expectSame(await store.settle("tenant-1", "act-1", spent(15)), true, "the first settlement");
        expectSame(await takenOf(store), "15", "what was spent");
        expectSame(await store.settle("tenant-1", "act-1", spent(0)), false, "a second settlement");
        expectSame(await takenOf(store), "15", "what was spent after it");
        expectSame(await store.reserve("act-2", [reservation(5)], noon), true, "what came back");
      },
    },
    {
      name: "settles units that are not named as they were reserved",
      async run() {
        const store = await open();
        await store.reserve("act-1", [reservation(8), reservation(9, { unit: "mails" })], noon);
        await store.settle("tenant-1", "act-1", spent(1, "mails"));
        expectSame([await takenOf(store), await takenOf(store, { unit: "mails" })], ["8", "1"], "what was spent");
      },
    },
    {
      name: "settles only what it knows, of the same tenant",
      async run() {
        const store = await open();
        await store.reserve("act-1", [reservation(20)], noon);
        expectSame(await store.settle("tenant-1", "act-2", spent(0)), false, "an unknown id");
        expectSame(await store.settle("tenant-2", "act-1", spent(0)), false, "an id of another tenant");
        expectSame(await takenOf(store), "20", "what is taken");
      },
    },
    {
      name: "counts whole what cost more than was reserved, and what comes back pays it first",
      async run() {
        const store = await open();
        await store.reserve("act-1", [reservation(10)], noon);
        await store.reserve("act-2", [reservation(10)], noon);
        await store.settle("tenant-1", "act-1", spent(16));
        expectSame(await takenOf(store), "26", "more than the limit");
        expectSame(await store.reserve("act-3", [reservation(0)], noon), true, "nothing, where nothing is left");
        await store.settle("tenant-1", "act-2", spent(5));
        expectSame(await store.reserve("act-4", [reservation(1)], noon), false, "what paid for the rest");
        expectSame(await takenOf(store), "21", "what is taken");
      },
    },
    {
      name: "begins anew with each window, and settles in the one in which it was reserved",
      async run() {
        const store = await open();
        const [morning, nextDay] = ["2026-01-01T00:00:00Z", "2026-01-02T00:00:00Z"];
        await store.reserve("act-1", [reservation(20)], morning);
        expectSame(await takenOf(store, {}, "2026-01-01T23:59:59.999Z"), "20", "what is taken before midnight");
        expectSame(await takenOf(store, {}, nextDay), "0", "what is taken at midnight");
        expectSame(await store.reserve("act-2", [reservation(20)], nextDay), true, "a whole limit");
        await store.settle("tenant-1", "act-1", spent(0));
        expectSame(await takenOf(store, {}, nextDay), "20", "what is taken after the settlement of the day before");
      },
    },
    {
      name: "never goes back to an earlier window",
      async run() {
        const store = await open();
        const [today, yesterday] = ["2026-01-02T00:00:00Z", "2026-01-01T23:59:59Z"];
        await store.reserve("act-1", [reservation(15)], today);
        expectSame(await takenOf(store, {}, yesterday), "15", "what a clock that went back reads");
        expectSame(await store.reserve("act-2", [reservation(6)], yesterday), false, "more than is left today");
        expectSame(await store.reserve("act-3", [reservation(5)], yesterday), true, "what is left today");
        expectSame(await takenOf(store, {}, today), "20", "what is taken");
      },
    },
    {
      name: "gives a hundred callers at once no more than there is",
      async run() {
        const store = await open();
        const above = { grantId: "grant-0", limit: 500n };
        const take = (_: unknown, place: number): Promise<boolean> =>
          store.reserve(`act-${place}`, [reservation(7, { limit: 100n }), reservation(7, above)], noon);
        const taken = await Promise.all(Array.from({ length: 100 }, take));
        expectSame(taken.filter(Boolean).length, 14, "how many got seven of a hundred");
        expectSame([await takenOf(store), await takenOf(store, above)], ["98", "98"], "what is taken");
      },
    },
  ];
}
