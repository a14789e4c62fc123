import { z } from "zod";
import { strictObject } from "../internal/index.ts";
import { AmountTextSchema, UnitSchema } from "./amount.ts";

const BudgetPeriodSchema = z.enum(["hour", "day", "week", "month", "total"]);

/** The windows of a budget, by the calendar of UTC; weeks begin on Monday. `total` is one window that does not end. */
export type BudgetPeriod = z.infer<typeof BudgetPeriodSchema>;

export const BudgetSchema = strictObject({
  unit: UnitSchema,
  /** How much may be spent in one window. */
  limit: AmountTextSchema,
  /** `total` when absent. */
  per: BudgetPeriodSchema.optional(),
  /** The most that one act may spend. */
  each: AmountTextSchema.optional(),
});

/** How much of a unit may be spent under a grant. */
export type Budget = z.infer<typeof BudgetSchema>;
