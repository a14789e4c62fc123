import { z } from "zod";
import { boundedArray, strictObject } from "../internal/index.ts";
import { boundedText } from "./scalars.ts";

const amountText = /^(?:0|[1-9]\d{0,11})(?:\.\d{1,6})?$/;
const amountExpected = "expected an amount of at most 12 digits and 6 decimals";

export const UnitSchema = z
  .string()
  .regex(/^[A-Za-z0-9._-]{1,16}$/, "expected 1 to 16 letters, digits, dots, underscores and hyphens");

export const AmountTextSchema = boundedText({ max: 20 }).regex(amountText, amountExpected);

export const AmountSchema = strictObject({
  unit: UnitSchema,
  amount: z.union([AmountTextSchema, z.number().refine((value) => amountText.test(String(value)), amountExpected)]),
});

/** How much of something an act costs: an exact amount, as text or as a number whose shortest text is one. */
export type Amount = z.infer<typeof AmountSchema>;

/** What an act costs. Amounts of the same unit are added. */
export const AmountsSchema = boundedArray(AmountSchema, { max: 16 });
