import type { DiscoveryContext, NamespaceCatalog } from "turnpike/contracts";
import type { ServiceApi } from "turnpike/http";

/** The same api, which lists no namespaces that are hidden from the caller. */
export function hideNamespaces(
  api: ServiceApi,
  isHidden: (namespace: string, context: DiscoveryContext) => boolean,
): ServiceApi {
  const visible = ({ namespaces }: NamespaceCatalog, context: DiscoveryContext): NamespaceCatalog => {
    const shown = namespaces.filter(({ namespace }) => !isHidden(namespace, context));
    const enabled = shown.filter((entry) => entry.enabled).length;
    return { namespaces: shown, summary: { enabled, disabled: shown.length - enabled, total: shown.length } };
  };
  return {
    ...api,
    listToolNamespaces: async (context, options) => visible(await api.listToolNamespaces(context, options), context),
    updateToolNamespaces: async (context, update, options) =>
      visible(await api.updateToolNamespaces(context, update, options), context),
  };
}
