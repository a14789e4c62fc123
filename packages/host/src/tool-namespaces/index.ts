export { hideNamespaces } from "./hide-namespaces.ts";
export { createNamespaceSettingsStore, type NamespaceSettingsStore } from "./namespace-settings-store.ts";
