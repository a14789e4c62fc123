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
  /** Continues from an earlier total. */
  restore(total: JsonObject): void;
}

/** The total as the journal stores it. A journal of an earlier release has fewer fields. */
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
    restore(stored) {
      total = { ...emptyTotal(), ...(stored as unknown as Total) };
      isPriced = "cost" in stored;
    },
  };
}

function emptyTotal(): Required<Total> {
  return { finishReasons: [], answeredBy: [], usage: {}, cost: {}, requestsWithoutCost: 0, estimatedTokens: 0 };
}

function usageIn(reported: LanguageModelUsage): Usage {
  const { inputTokens, outputTokens, totalTokens, inputTokenDetails, outputTokenDetails } = reported;
  // A partial count is ignored: the SDK adds up what there is, even if the provider reports no input, or a negative one.
  const sum = isCount(inputTokens) && isCount(outputTokens) ? totalTokens : undefined;
  const always = Object.entries({ inputTokens, outputTokens, totalTokens: sum }).filter(([, count]) => isCount(count));
  // The SDK reports 0 for these two also when the provider reports nothing.
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
