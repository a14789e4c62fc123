import type { JsonObject } from "turnpike/contracts";
import type { Finish } from "./model-request.ts";
import type { OpenModel } from "./providers.ts";

/** Counts the tokens that the requests of a turn use. */
export interface ModelUsage {
  /** Adds a request, and returns what this request alone used. */
  add(finish: Finish, model: OpenModel): JsonObject;
  /** The total so far, for the metadata of the result. */
  total(): JsonObject;
  /** Goes on from an earlier total. */
  restore(total: JsonObject): void;
}

const counted = ["inputTokens", "outputTokens", "totalTokens"] as const;

/** Opens the count of a turn. Numbers that a provider does not report are left out. */
export function openModelUsage(): ModelUsage {
  let finishReasons: string[] = [];
  let answeredBy: string[] = [];
  let usage: Record<string, number> = {};
  return {
    add({ reason, usage: spent }, { name }) {
      finishReasons.push(reason);
      answeredBy.push(name);
      const known = counted.filter((key) => isCount(spent[key]));
      for (const key of known) usage[key] = (usage[key] ?? 0) + (spent[key] ?? 0);
      return Object.fromEntries(known.map((key) => [key, spent[key] ?? 0]));
    },
    total: () => ({ finishReasons: [...finishReasons], answeredBy: [...answeredBy], usage: { ...usage } }),
    restore(total) {
      // A journal of an earlier release does not say which model answered.
      const kept = total as { finishReasons: string[]; answeredBy?: string[]; usage: typeof usage };
      finishReasons = [...kept.finishReasons];
      answeredBy = [...(kept.answeredBy ?? [])];
      usage = { ...kept.usage };
    },
  };
}

function isCount(value: number | undefined): boolean {
  return Number.isSafeInteger(value) && (value ?? -1) >= 0;
}
