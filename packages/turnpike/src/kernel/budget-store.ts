import type { BudgetPeriod } from "../contracts/index.ts";

/** What names a budget. What is spent is counted for each, and apart for each of its windows. */
export interface BudgetRef {
  namespaceId: string;
  grantId: string;
  unit: string;
  per: BudgetPeriod;
}

/** The amounts that were reserved for an act, by which they are settled. */
export interface Reserved {
  namespaceId: string;
  id: string;
  units: ReadonlySet<string>;
}

/** What is taken from a budget in one window: what was spent, and what is reserved. */
export interface BudgetSum {
  /** In millionths of the unit. It may be more than the limit, after an act that cost more than it had said. */
  taken: bigint;
  /** When the window began, as `budgetWindow` says. */
  window: number;
}

/** An amount to take from one budget, in millionths of the unit. */
export interface Reservation extends BudgetRef {
  amount: bigint;
  limit: bigint;
}

/** What an act really cost, in millionths, by its units. A unit that is left out costs what was reserved. */
export type Spent = ReadonlyMap<string, bigint>;

/**
 * Counts what is spent of budgets. The window of a budget is that of `now`, but never one before a window in which something was
 * reserved: a clock that goes back counts to the later one. Every method throws on an outage.
 */
export interface BudgetStore {
  /** What is taken from each of these budgets, in their order. */
  read(budgets: readonly BudgetRef[], now: string): Promise<readonly BudgetSum[]>;
  /**
   * Atomic: takes every amount, each from another budget, or none. True when each was at most what was left, which is never less than
   * zero. The id is new.
   */
  reserve(id: string, reservations: readonly Reservation[], now: string): Promise<boolean>;
  /**
   * Replaces what was reserved under an id by what was spent, in the windows in which it was reserved. True for the first caller, and
   * false for every later one and for an unknown id.
   */
  settle(namespaceId: string, id: string, spent: Spent): Promise<boolean>;
}

/** What is left of a limit. */
export function leftOf(limit: bigint, taken: bigint): bigint {
  return taken < limit ? limit - taken : 0n;
}
