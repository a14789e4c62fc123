import type { UsageStore } from "../kernel/index.ts";

/** Counts uses in memory. */
export function memoryUsage(): UsageStore {
  const counts = new Map<string, number>();
  const keyOf = (namespaceId: string, grantId: string): string => JSON.stringify([namespaceId, grantId]);
  return {
    used: (namespaceId, grantId) => Promise.resolve(counts.get(keyOf(namespaceId, grantId)) ?? 0),
    consume(namespaceId, grantId, maxUses) {
      const key = keyOf(namespaceId, grantId);
      const used = counts.get(key) ?? 0;
      if (used >= maxUses) return Promise.resolve(false);
      counts.set(key, used + 1);
      return Promise.resolve(true);
    },
  };
}
