import { principalKey, type AccessContext } from "../contracts/index.ts";
import type { ToolNamespaceSettingsStore } from "../kernel/index.ts";

/** Whose selection it is: settings belong to one actor in one tenant. */
export type SettingsHolder = Pick<AccessContext, "namespaceId" | "actor">;

/** Namespace settings in memory. */
export interface MemoryNamespaceSettings extends ToolNamespaceSettingsStore {
  /** What is switched on for this actor, for building access contexts. */
  enabled(holder: SettingsHolder): string[];
}

/** Keeps which tool namespaces are on, per tenant and actor; everyone starts with `initial`. */
export function memoryNamespaceSettings(initial: readonly string[] = []): MemoryNamespaceSettings {
  const selections = new Map<string, Set<string>>();
  const selectionOf = ({ namespaceId, actor }: SettingsHolder): Set<string> => {
    const key = JSON.stringify([namespaceId, principalKey(actor)]);
    const selection = selections.get(key) ?? new Set(initial);
    selections.set(key, selection);
    return selection;
  };
  return {
    enabled: (holder) => [...selectionOf(holder)].toSorted(),
    applyUpdate(context, { enable = [], disable = [] }) {
      const selection = selectionOf(context);
      for (const namespace of enable) selection.add(namespace);
      for (const namespace of disable) selection.delete(namespace);
      return Promise.resolve([...selection].toSorted());
    },
  };
}
