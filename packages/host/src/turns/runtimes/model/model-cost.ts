import type { Prices } from "./runtime-config.ts";

/** What a request used. What a provider does not report is left out; so are cached and reasoning tokens when there are none. */
export type Usage = {
  [Key in "inputTokens" | "outputTokens" | "totalTokens" | "cachedInputTokens" | "reasoningTokens"]?: number;
};

/** Amounts by currency: fallbacks may be paid in another one. */
export type Costs = Record<string, number>;

/** An amount of money, in millionths of a millionth: so the price of a token, and every sum of them, is a whole number. */
export interface Price {
  currency: string;
  picos: number;
}

const picosPerUnit = 1e12;

/** What a request cost; undefined when its provider does not report enough to say. */
export function priceOf(
  { inputTokens, outputTokens, cachedInputTokens = 0 }: Usage,
  { currency, input, cachedInput = input, output }: Prices,
): Price | undefined {
  if (inputTokens === undefined || outputTokens === undefined) return undefined;
  // Some servers count what was cached besides the input.
  const uncached = Math.max(0, inputTokens - cachedInputTokens);
  const picos =
    uncached * perToken(input) + cachedInputTokens * perToken(cachedInput) + outputTokens * perToken(output);
  return { currency, picos };
}

/** Adds a price to the costs so far. */
export function costIn(costs: Costs, { currency, picos }: Price): Costs {
  const before = Math.round((costs[currency] ?? 0) * picosPerUnit);
  return { ...costs, [currency]: (before + picos) / picosPerUnit };
}

/** The price of one token in whole picos. Prices are configured for a million tokens. */
function perToken(price: number): number {
  return Math.round(price * 1e6);
}
