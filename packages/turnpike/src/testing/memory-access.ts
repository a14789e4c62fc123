import { principalKey, type AccessContext } from "../contracts/index.ts";
import type { AccessGuard } from "../kernel/index.ts";
import type { SettingsHolder } from "./memory-namespace-settings.ts";

/** An access guard in memory. */
export interface MemoryAccess extends AccessGuard {
  /** Revokes the access of this actor. */
  revoke(holder: SettingsHolder): void;
  /** The tool namespaces that are on for this actor from now on; until then those that its context names. */
  switchTo(holder: SettingsHolder, namespaces: readonly string[]): void;
}

/**
 * Every access is active as its context says until something is taken away.
 *
 * @example
 * import { memoryAccess } from "turnpike/testing";
 *
 * const access = memoryAccess();
 * access.revoke(context);
 * console.log(await access.check(context, AbortSignal.timeout(1_000))); // { isActive: false }
 */
export function memoryAccess(): MemoryAccess {
  const revoked = new Set<string>();
  const selections = new Map<string, readonly string[]>();
  const keyOf = ({ namespaceId, actor }: SettingsHolder): string => JSON.stringify([namespaceId, principalKey(actor)]);
  return {
    revoke: (holder) => void revoked.add(keyOf(holder)),
    switchTo: (holder, namespaces) => void selections.set(keyOf(holder), namespaces),
    check(context: AccessContext) {
      const key = keyOf(context);
      if (revoked.has(key)) return Promise.resolve({ isActive: false });
      const enabledToolNamespaces = selections.get(key) ?? context.enabledToolNamespaces;
      return Promise.resolve({ isActive: true, enabledToolNamespaces });
    },
  };
}
