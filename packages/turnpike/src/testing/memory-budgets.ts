import { parseInstant } from "../contracts/index.ts";
import { budgetWindow, type BudgetRef, type BudgetStore, type BudgetSum } from "../kernel/index.ts";

/** An amount that is reserved, in the window in which it was. */
interface Entry extends BudgetRef {
  window: number;
  amount: bigint;
}

/**
 * Counts in memory what is spent of budgets. What is over is forgotten.
 *
 * @example
 * import { memoryBudgets } from "turnpike/testing";
 *
 * const budgets = memoryBudgets();
 * const reservation = { namespaceId: "home", grantId: "grant-1", unit: "EUR", per: "day", limit: 20n, amount: 15n } as const;
 * console.log(await budgets.reserve("act-1", [reservation], context.now)); // true
 * console.log(await budgets.reserve("act-2", [reservation], context.now)); // false
 */
export function memoryBudgets(): BudgetStore {
  const sums = new Map<string, BudgetSum>();
  const open = new Map<string, readonly Entry[]>();
  const sumOf = (budget: BudgetRef, now: string): BudgetSum => {
    const known = sums.get(nameOf(budget));
    const { start: window } = budgetWindow(budget.per, parseInstant(now) ?? Number.NaN);
    return known !== undefined && known.window >= window ? known : { taken: 0n, window };
  };
  return {
    read: (budgets, now) => Promise.resolve(budgets.map((budget) => ({ ...sumOf(budget, now) }))),
    reserve(id, reservations, now) {
      const found = reservations.map((one) => ({ ...one, ...sumOf(one, now) }));
      const isEnough = found.every(({ limit, taken, amount }) => amount <= (taken < limit ? limit - taken : 0n));
      if (!isEnough) return Promise.resolve(false);
      for (const { taken, window, amount, ...budget } of found)
        sums.set(nameOf(budget), { taken: taken + amount, window });
      open.set(id, found);
      return Promise.resolve(true);
    },
    settle(namespaceId, id, spent) {
      const entries = open.get(id) ?? [];
      if (!entries.some((entry) => entry.namespaceId === namespaceId)) return Promise.resolve(false);
      open.delete(id);
      for (const { amount, window, ...budget } of entries) {
        const sum = sums.get(nameOf(budget));
        // A window that is over took its reservations along.
        if (sum?.window === window) sum.taken += (spent.get(budget.unit) ?? amount) - amount;
      }
      return Promise.resolve(true);
    },
  };
}

function nameOf({ namespaceId, grantId, unit, per }: BudgetRef): string {
  return JSON.stringify([namespaceId, grantId, unit, per]);
}
