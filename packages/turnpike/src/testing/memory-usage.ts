import type { UsageStore } from "../kernel/index.ts";

/**
 * Counts uses in memory.
 *
 * @example
 * import { memoryUsage } from "turnpike/testing";
 *
 * const usage = memoryUsage();
 * console.log(await usage.consume("home", "grant-1", 1)); // true
 * console.log(await usage.consume("home", "grant-1", 1)); // false
 */
export function memoryUsage(): UsageStore {
  const tenants = new Map<string, Map<string, number>>();
  const usedBy = (namespaceId: string, grantId: string): number => tenants.get(namespaceId)?.get(grantId) ?? 0;
  return {
    used: (namespaceId, grantId) => Promise.resolve(usedBy(namespaceId, grantId)),
    consume(namespaceId, grantId, maxUses) {
      const used = usedBy(namespaceId, grantId);
      if (used >= maxUses) return Promise.resolve(false);
      const tenant = tenants.get(namespaceId) ?? new Map<string, number>();
      tenants.set(namespaceId, tenant.set(grantId, used + 1));
      return Promise.resolve(true);
    },
  };
}
