import type { Budget, BudgetPeriod, Grant } from "../contracts/index.ts";
import { readAmount, writeAmount } from "./amounts.ts";

/** The budget of one grant for one unit and window, in millionths. */
export interface GrantBudget {
  readonly namespaceId: string;
  readonly grantId: string;
  readonly unit: string;
  readonly per: BudgetPeriod;
  readonly limit: bigint;
  /** The most that one act may take. */
  readonly each: bigint;
}

const noBudgets: readonly GrantBudget[] = [];

/** The budgets of a grant. Those of one unit and window share what is spent, so that the smaller limit counts. */
export function budgetsOf({ id: grantId, namespaceId, constraints: { budgets } }: Grant): readonly GrantBudget[] {
  if (budgets === undefined) return noBudgets;
  const all = budgets.map(({ unit, per = "total", limit: limitText, each }): GrantBudget => {
    const limit = readAmount(limitText);
    return {
      namespaceId,
      grantId,
      unit,
      per,
      limit,
      each: smaller(limit, each === undefined ? limit : readAmount(each)),
    };
  });
  return narrowest(all);
}

/** The smallest of each grant, unit and window. */
export function narrowest(budgets: readonly GrantBudget[]): readonly GrantBudget[] {
  if (budgets.length < 2) return budgets;
  const found = new Map<string, GrantBudget>();
  for (const budget of budgets) {
    const key = keyOf(budget);
    const known = found.get(key) ?? budget;
    found.set(key, { ...budget, limit: smaller(known.limit, budget.limit), each: smaller(known.each, budget.each) });
  }
  return [...found.values()];
}

/** Whether some budget is larger than one of `above` for the same unit and window. Others only narrow. */
export function exceedsBudgets(budgets: readonly GrantBudget[], above: readonly GrantBudget[]): boolean {
  return budgets.some((one) => above.some((other) => isAlike(one, other) && isLarger(one, other)));
}

/** The budgets of all these grants. */
export function joined(some: readonly GrantBudget[], others: readonly GrantBudget[]): readonly GrantBudget[] {
  if (others.length === 0) return some;
  return some.length === 0 ? others : [...some, ...others];
}

function isAlike(one: GrantBudget, other: GrantBudget): boolean {
  return one.unit === other.unit && one.per === other.per;
}

function isLarger(one: GrantBudget, other: GrantBudget): boolean {
  return one.limit > other.limit || one.each > other.each;
}

function keyOf({ grantId, unit, per }: GrantBudget): string {
  return JSON.stringify([grantId, unit, per]);
}

function smaller(one: bigint, other: bigint): bigint {
  return one < other ? one : other;
}

/** The smallest of each unit and window, whichever grants have them, as grants write budgets, in an order of their own. */
export function asBudgets(budgets: readonly GrantBudget[]): Budget[] {
  const written = narrowest(budgets.map((budget) => ({ ...budget, grantId: "" }))).map(
    ({ unit, per, limit, each }): Budget => ({
      unit,
      limit: writeAmount(limit),
      ...(per !== "total" && { per }),
      ...(each < limit && { each: writeAmount(each) }),
    }),
  );
  const keyed = written.map((budget) => [JSON.stringify([budget.unit, budget.per ?? ""]), budget] as const);
  return keyed.toSorted(([one], [other]) => (one < other ? -1 : 1)).map(([, budget]) => budget);
}
