import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { costIn, priceOf } from "./model-cost.ts";

const prices = { currency: "USD", input: 0.25, cachedInput: 0.025, output: 2 };

describe("a request costs", () => {
  for (const { name, usage, cost } of [
    { name: "its input and output", usage: { inputTokens: 1_000_000, outputTokens: 500_000 }, cost: 1.25 },
    {
      name: "less for what was cached",
      usage: { inputTokens: 1_000_000, outputTokens: 0, cachedInputTokens: 400_000 },
      cost: 0.16,
    },
    {
      name: "the same for reasoning, which is output",
      usage: { inputTokens: 0, outputTokens: 7, reasoningTokens: 5 },
      cost: 0.000014,
    },
    {
      name: "no less than nothing",
      usage: { inputTokens: 5, outputTokens: 0, cachedInputTokens: 10 },
      cost: 0.00000025,
    },
    { name: "what cannot be said without its input", usage: { outputTokens: 5 }, cost: undefined },
    { name: "what cannot be said without its output", usage: { inputTokens: 5 }, cost: undefined },
  ]) {
    test(name, () => {
      const price = priceOf(usage, prices);
      expect(price && costIn({}, price)["USD"]).toBe(cost);
    });
  }

  test("as much for cached input as for other input when it has no price of its own", () => {
    const usage = { inputTokens: 1_000_000, outputTokens: 0, cachedInputTokens: 1_000_000 };
    const price = priceOf(usage, { currency: "USD", input: 3, output: 15 });
    expect(price && costIn({}, price)).toStrictEqual({ USD: 3 });
  });
});

test("costs of different currencies are not mixed", () => {
  const costs = costIn({ USD: 1 }, { currency: "EUR", picos: 5e11 });
  expect(costIn(costs, { currency: "USD", picos: 1e11 })).toStrictEqual({ USD: 1.1, EUR: 0.5 });
});

test("a sum of any requests is exact to the last decimal, without noise", () => {
  const request = fc.record({ inputTokens: fc.nat(200_000), outputTokens: fc.nat(60_000) });
  fc.assert(
    fc.property(fc.array(request, { maxLength: 50 }), (requests) => {
      let costs: Record<string, number> = {};
      for (const usage of requests) costs = costIn(costs, priceOf(usage, prices) ?? { currency: "USD", picos: 0 });
      const picos = requests.reduce(
        (sum, usage) => sum + BigInt(usage.inputTokens) * 250_000n + BigInt(usage.outputTokens) * 2_000_000n,
        0n,
      );
      expect(BigInt(Math.round((costs["USD"] ?? 0) * 1e12))).toBe(picos);
      expect(String(costs["USD"] ?? 0)).not.toMatch(/0{6}[1-9]$|9{6}/);
    }),
  );
});
