import type { ServiceHttpError } from "turnpike/http";
import { operatorsTenant, type AdminInput, type AdminRouteName } from "../../management/index.ts";
import { conflict, invalid, notFound, type AdminOperations, type AdminServices } from "./admin-services.ts";

/** Deleting tenants. */
export function tenantOperations(services: AdminServices): AdminOperations<"deleteTenant"> {
  const { stores, clock, removeDeletedTenants } = services;
  return {
    async deleteTenant({ namespaceId, confirm }, operator) {
      if (confirm !== namespaceId) throw invalid("/confirm: expected the tenant's name once more.");
      if (namespaceId === operatorsTenant) throw invalid("/namespaceId: the operators' own tenant cannot be deleted.");
      const before = await stores.tenants.find(namespaceId);
      if (before === undefined) {
        if (!(await stores.audit.isKnown(namespaceId)))
          throw notFound("tenant of this name: it has no trail, no grant and no credential");
        const order = { actor: operator.actor, operator: operator.id, at: clock().toISOString() };
        await operator.change({ namespaceId, action: "tenant.delete" }, () => stores.tenants.begin(namespaceId, order));
      }
      const isFinished = before?.finishedAt !== undefined;
      if (!isFinished) removeDeletedTenants();
      return { namespaceId, isFinished };
    },
  };
}

/** With these a tenant begins. */
const beginning: ReadonlySet<AdminRouteName> = new Set(["createCredential", "createGrant", "applyGrants"]);
/** These change something in a tenant that is there. */
const changing: ReadonlySet<AdminRouteName> = new Set(["deriveGrant", "changeNamespaces", "approveEscalation"]);

/** Nobody acts in the operators' own tenant, so nothing is given to anybody there. Whatever is there can be taken away. */
export function requireTenantOfAgents(name: AdminRouteName, input: unknown): void {
  if (name === "createCredential" || (!beginning.has(name) && !changing.has(name))) return;
  if ((input as { namespaceId: string }).namespaceId === operatorsTenant)
    throw invalid(
      `/namespaceId: ${operatorsTenant} is the tenant of the operators, in which nobody acts. Name another one.`,
    );
}

/** Refuses what would put something into a tenant that was deleted; one that is gone may begin anew. */
export async function requireLivingTenant(
  { stores, removeDeletedTenants }: AdminServices,
  name: AdminRouteName,
  input: unknown,
): Promise<void> {
  if (!beginning.has(name) && !changing.has(name)) return;
  const { namespaceId, dryRun } = input as AdminInput<"createGrant"> & { dryRun?: boolean };
  if (dryRun === true) return requireNotBeingDeleted({ stores }, namespaceId);
  const isThere = beginning.has(name)
    ? await stores.tenants.reopen(namespaceId)
    : !(await stores.tenants.isDeleted(namespaceId));
  if (isThere) return;
  removeDeletedTenants();
  throw tenantDeleted();
}

/** Refuses what could not be put into a tenant, of which something is left to remove. */
export async function requireNotBeingDeleted(
  { stores }: Pick<AdminServices, "stores">,
  namespaceId: string,
): Promise<void> {
  const deleted = await stores.tenants.find(namespaceId);
  if (deleted !== undefined && deleted.finishedAt === undefined) throw tenantDeleted();
}

function tenantDeleted(): ServiceHttpError {
  return conflict("This tenant was deleted. Wait until all of it is removed, then make a credential or a grant.");
}
