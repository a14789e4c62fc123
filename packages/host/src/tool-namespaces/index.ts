export { hideNamespaces } from "./hide-namespaces.ts";
export {
  changeNamespaces,
  createNamespaceSettingsStore,
  type NamespaceSettingsStore,
} from "./namespace-settings-store.ts";
