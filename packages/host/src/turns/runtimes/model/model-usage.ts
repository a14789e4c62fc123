import type { JsonObject } from "turnpike/contracts";
import type { Finish } from "./model-request.ts";

/** Counts what the requests of a turn cost. */
export interface ModelTally {
  /** Adds a request; returns what it cost alone. */
  add(finish: Finish): JsonObject;
  /** Everything so far, as a result's metadata says it. */
  total(): JsonObject;
}

const counted = ["inputTokens", "outputTokens", "totalTokens"] as const;

/** Opens the account of a turn. What a provider does not say is not made up. */
export function openTally(): ModelTally {
  const finishReasons: string[] = [];
  const usage: Record<string, number> = {};
  return {
    add({ reason, usage: spent }) {
      finishReasons.push(reason);
      const known = counted.filter((key) => isCount(spent[key]));
      for (const key of known) usage[key] = (usage[key] ?? 0) + (spent[key] ?? 0);
      return Object.fromEntries(known.map((key) => [key, spent[key] ?? 0]));
    },
    total: () => ({ finishReasons: [...finishReasons], usage: { ...usage } }),
  };
}

function isCount(value: number | undefined): boolean {
  return Number.isSafeInteger(value) && (value ?? -1) >= 0;
}
