import { principalKey, type AccessContext } from "../contracts/index.ts";
import { KernelError, type ToolNamespaceSettingsStore } from "../kernel/index.ts";

/** Whose selection it is: settings belong to one actor in one tenant. */
export type SettingsHolder = Pick<AccessContext, "namespaceId" | "actor">;

/** Namespace settings in memory. */
export interface MemoryNamespaceSettings extends ToolNamespaceSettingsStore {
  /** What is switched on for this actor, for building access contexts. */
  enabled(holder: SettingsHolder): string[];
}

const maxEnabled = 256;

function keyOf({ namespaceId, actor }: SettingsHolder): string {
  return JSON.stringify([namespaceId, principalKey(actor)]);
}

/**
 * Stores which tool namespaces are on, per tenant and actor; everyone starts with `initial`.
 *
 * @example
 * import { memoryNamespaceSettings } from "turnpike/testing";
 *
 * const settings = memoryNamespaceSettings(["notes"]);
 * await settings.applyUpdate(context, { enable: ["files"] }, AbortSignal.timeout(1_000));
 * console.log(settings.enabled(context)); // [ 'files', 'notes' ]
 */
export function memoryNamespaceSettings(initial: readonly string[] = []): MemoryNamespaceSettings {
  const selections = new Map<string, Set<string>>();
  const selectionOf = (holder: SettingsHolder): Set<string> => selections.get(keyOf(holder)) ?? new Set(initial);
  return {
    enabled: (holder) => [...selectionOf(holder)].toSorted(),
    applyUpdate(context, { enable = [], disable = [] }) {
      const selection = new Set([...selectionOf(context), ...enable]);
      for (const namespace of disable) selection.delete(namespace);
      if (selection.size > maxEnabled) return Promise.reject(new KernelError("invalid_request"));
      selections.set(keyOf(context), selection);
      return Promise.resolve([...selection].toSorted());
    },
  };
}
