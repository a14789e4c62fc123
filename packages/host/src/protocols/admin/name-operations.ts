import { nearestName } from "../../shared/index.ts";
import { operatorsTenant } from "../../admin-contract/index.ts";
import type { AdminOperations, AdminServices } from "./admin-services.ts";

/** How many grants of the tenant, and how many tenants, are read. This is for hints, which may be incomplete. */
const [maxGrants, maxTenants] = [1000, 1000];

/** The names that exist here, so that clients can point out probable typing mistakes. */
export function nameOperations({
  stores,
  toolNamespaces,
  resourceActions,
}: AdminServices): AdminOperations<"readNames"> {
  const { audit, grants, tenants } = stores;
  return {
    async readNames({ namespaceId }, operator) {
      const isLiving = (await audit.isKnown(namespaceId)) && !(await tenants.isDeleted(namespaceId));
      const isKnown = isLiving || namespaceId === operatorsTenant;
      const isOfAll = operator.tenant === undefined;
      const others = isKnown || !isOfAll ? [] : (await tenants.listLiving(undefined, maxTenants)).names;
      const nearest = nearestName(namespaceId, others);
      // Namespaces of existing grants are known as well, because other programs may ask about them.
      const granted = await grants.list(namespaceId, { limit: maxGrants });
      const actions = new Map(
        resourceActions(namespaceId).map(({ namespace, actions: known }) => [namespace, new Set(known)]),
      );
      for (const { capabilities } of granted)
        for (const { resource, actions: given } of capabilities) {
          const known = actions.get(resource.namespace) ?? new Set();
          for (const action of given) known.add(action);
          actions.set(resource.namespace, known);
        }
      return {
        tenant: { isKnown, ...(nearest !== undefined && { nearest }) },
        toolNamespaces: [...toolNamespaces(namespaceId)],
        resources: [...actions]
          .map(([namespace, known]) => ({ namespace, actions: [...known].toSorted() }))
          .toSorted((one, other) => (one.namespace < other.namespace ? -1 : 1)),
      };
    },
  };
}
