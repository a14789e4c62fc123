import { nearestName } from "../../base/index.ts";
import { operatorsTenant } from "../../management/index.ts";
import type { AdminOperations, AdminServices } from "./admin-services.ts";

/** How many grants of the tenant, and how many tenants, are looked at. This is for hints, which may miss something. */
const [lookedGrants, lookedTenants] = [1000, 1000];

/** The names that mean something here, so that what is probably a typing mistake can be told. */
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
      const others = isKnown || !isOfAll ? [] : (await tenants.listLiving(undefined, lookedTenants)).names;
      const nearest = nearestName(namespaceId, others);
      // What somebody granted before is known as well: other programs may ask about it.
      const granted = await grants.list(namespaceId, { limit: lookedGrants });
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
