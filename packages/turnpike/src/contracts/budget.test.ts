import { testContract } from "../../test/contract-rows.ts";
import { BudgetSchema } from "./budget.ts";

const budget = { unit: "EUR", limit: "20.50" };

testContract("a budget", BudgetSchema, [
  { name: "of a limit", value: budget },
  ...["hour", "day", "week", "month", "total"].map((per) => ({ name: `per ${per}`, value: { ...budget, per } })),
  { name: "per year", value: { ...budget, per: "year" }, refusedAt: "/per" },
  { name: "with the most for one act", value: { ...budget, each: "0.000001" } },
  { name: "of the largest limit", value: { ...budget, limit: "999999999999.999999" } },
  { name: "of nothing", value: { ...budget, limit: "0" } },
  ...["", "-1", "+1", "01", "1.", ".5", "1e3", "1,5", " 1", "1\n", "1234567890123", "0.1234567"].map((limit) => ({
    name: `of ${JSON.stringify(limit)}`,
    value: { ...budget, limit },
    refusedAt: "/limit",
  })),
  { name: "of a number, which some parsers would round", value: { ...budget, limit: 20.5 }, refusedAt: "/limit" },
  { name: "with a malformed amount for one act", value: { ...budget, each: "five" }, refusedAt: "/each" },
  ...["A", "tokens", "gpt-4.1_out", "a".repeat(16)].map((unit) => ({ name: `in ${unit}`, value: { ...budget, unit } })),
  ...["", "a".repeat(17), "a b", "€", "EUR\n"].map((unit) => ({
    name: `in ${JSON.stringify(unit)}`,
    value: { ...budget, unit },
    refusedAt: "/unit",
  })),
]);
