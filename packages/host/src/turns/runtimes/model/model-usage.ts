import type { JsonObject } from "turnpike/contracts";
import type { Finish } from "./model-request.ts";

/** Counts the tokens that the requests of a turn use. */
export interface ModelUsage {
  /** Adds a request, and returns what this request alone used. */
  add(finish: Finish): JsonObject;
  /** The total so far, for the metadata of the result. */
  total(): JsonObject;
  /** Goes on from an earlier total. */
  restore(total: JsonObject): void;
}

const counted = ["inputTokens", "outputTokens", "totalTokens"] as const;

/** Opens the count of a turn. Numbers that a provider does not report are left out. */
export function openModelUsage(): ModelUsage {
  let finishReasons: string[] = [];
  let usage: Record<string, number> = {};
  return {
    add({ reason, usage: spent }) {
      finishReasons.push(reason);
      const known = counted.filter((key) => isCount(spent[key]));
      for (const key of known) usage[key] = (usage[key] ?? 0) + (spent[key] ?? 0);
      return Object.fromEntries(known.map((key) => [key, spent[key] ?? 0]));
    },
    total: () => ({ finishReasons: [...finishReasons], usage: { ...usage } }),
    restore(total) {
      const { finishReasons: reasons, usage: spent } = total as { finishReasons: string[]; usage: typeof usage };
      finishReasons = [...reasons];
      usage = { ...spent };
    },
  };
}

function isCount(value: number | undefined): boolean {
  return Number.isSafeInteger(value) && (value ?? -1) >= 0;
}
