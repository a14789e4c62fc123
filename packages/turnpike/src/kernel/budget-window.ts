import type { BudgetPeriod } from "../contracts/index.ts";

/** When a window of a budget begins, in milliseconds since 1970, and when it ends; `total` does not. */
export interface BudgetWindow {
  start: number;
  end?: number;
}

const hourMs = 3_600_000;
const dayMs = 24 * hourMs;
const weekMs = 7 * dayMs;
/** 1970 began on a Thursday, three days after a Monday. */
const firstMonday = -3 * dayMs;

/**
 * The window that an instant is in, by the calendar of UTC.
 *
 * @example
 * import { budgetWindow } from "turnpike/kernel";
 *
 * const { start } = budgetWindow("week", Date.UTC(2026, 0, 1));
 * console.log(new Date(start).toISOString()); // 2025-12-29T00:00:00.000Z
 */
export function budgetWindow(per: BudgetPeriod, instant: number): BudgetWindow {
  switch (per) {
    case "hour":
      return windowOf(instant, hourMs, 0);
    case "day":
      return windowOf(instant, dayMs, 0);
    case "week":
      return windowOf(instant, weekMs, firstMonday);
    case "month":
      return monthOf(instant);
    case "total":
      return { start: 0 };
  }
}

function windowOf(instant: number, length: number, first: number): BudgetWindow {
  const start = first + Math.floor((instant - first) / length) * length;
  return { start, end: start + length };
}

function monthOf(instant: number): BudgetWindow {
  const date = new Date(instant);
  date.setUTCDate(1);
  const start = date.setUTCHours(0, 0, 0, 0);
  return { start, end: date.setUTCMonth(date.getUTCMonth() + 1) };
}
