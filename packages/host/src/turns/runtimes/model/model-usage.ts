import type { LanguageModelUsage } from "ai";
import type { JsonObject } from "turnpike/contracts";
import { costIn, priceOf, type Costs, type Usage } from "./model-cost.ts";
import type { Finish } from "./model-request.ts";
import type { OpenModel } from "./providers.ts";

/** What one request used, and what that cost, if its model has prices. */
export interface RequestUsage {
  usage: Usage;
  cost?: Costs;
}

/** Counts the tokens that the requests of a turn use. */
export interface ModelUsage {
  /** Adds a request, and returns what this request alone used. `estimate` counts when the provider reports nothing. */
  add(finish: Finish, model: OpenModel, estimate: () => number): RequestUsage;
  /** How many tokens count against the turn's budget. */
  spent(): number;
  /** The total so far, for the metadata of the result. */
  total(): JsonObject;
  /** Goes on from an earlier total. */
  restore(total: JsonObject): void;
}

/** The total as it is kept. A journal of an earlier release has less. */
interface Total {
  finishReasons: string[];
  answeredBy?: string[];
  usage: Usage;
  cost?: Costs;
  requestsWithoutCost?: number;
  estimatedTokens?: number;
}

/** Opens the count of a turn. */
export function openModelUsage(): ModelUsage {
  let total: Required<Total> = emptyTotal();
  let isPriced = false;
  return {
    add({ reason, usage: reported }, { name, settings }, estimate) {
      const usage = usageIn(reported);
      const price = settings.prices && priceOf(usage, settings.prices);
      isPriced ||= settings.prices !== undefined;
      total = {
        finishReasons: [...total.finishReasons, reason],
        answeredBy: [...total.answeredBy, name],
        usage: sumOf(total.usage, usage),
        cost: price === undefined ? total.cost : costIn(total.cost, price),
        requestsWithoutCost: total.requestsWithoutCost + (price === undefined ? 1 : 0),
        estimatedTokens: total.estimatedTokens + (usage.totalTokens === undefined ? estimate() : 0),
      };
      return { usage, ...(price && { cost: costIn({}, price) }) };
    },
    spent: () => (total.usage.totalTokens ?? 0) + total.estimatedTokens,
    total() {
      const { cost, requestsWithoutCost, estimatedTokens, ...always } = total;
      return {
        ...always,
        ...(isPriced && { cost }),
        ...(isPriced && requestsWithoutCost > 0 && { requestsWithoutCost }),
        ...(estimatedTokens > 0 && { estimatedTokens }),
      };
    },
    restore(kept) {
      total = { ...emptyTotal(), ...(kept as unknown as Total) };
      isPriced = "cost" in kept;
    },
  };
}

function emptyTotal(): Required<Total> {
  return { finishReasons: [], answeredBy: [], usage: {}, cost: {}, requestsWithoutCost: 0, estimatedTokens: 0 };
}

function usageIn(reported: LanguageModelUsage): Usage {
  const { inputTokens, outputTokens, totalTokens, inputTokenDetails, outputTokenDetails } = reported;
  // Half a count is none: the SDK adds up what there is, also when the provider says nothing of the input, or less than none.
  const sum = isCount(inputTokens) && isCount(outputTokens) ? totalTokens : undefined;
  const always = Object.entries({ inputTokens, outputTokens, totalTokens: sum }).filter(([, count]) => isCount(count));
  // The SDK says 0 of these two as well when the provider says nothing.
  const details = Object.entries({
    cachedInputTokens: inputTokenDetails.cacheReadTokens,
    reasoningTokens: outputTokenDetails.reasoningTokens,
  }).filter(([, count]) => isCount(count) && count !== 0);
  return Object.fromEntries([...always, ...details]) as Usage;
}

function sumOf(one: Usage, other: Usage): Usage {
  const sum: Usage = { ...one };
  for (const [key, count] of Object.entries(other) as [keyof Usage, number][]) sum[key] = (sum[key] ?? 0) + count;
  return sum;
}

function isCount(value: number | undefined): boolean {
  return Number.isSafeInteger(value) && (value ?? -1) >= 0;
}
