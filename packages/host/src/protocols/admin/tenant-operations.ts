import type { ServiceHttpError } from "turnpike/http";
import { operatorsTenant, type AdminRouteName } from "../../admin-contract/index.ts";
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
          throw notFound("tenant of this name: it has no audit log, no grant and no credential");
        const order = { actor: operator.actor, operator: operator.id, at: clock().toISOString() };
        await operator.change({ namespaceId, action: "tenant.delete" }, () => stores.tenants.begin(namespaceId, order));
      }
      const isFinished = before?.finishedAt !== undefined;
      if (!isFinished) removeDeletedTenants();
      return { namespaceId, isFinished };
    },
  };
}

/** The routes that create a tenant. */
const beginning: ReadonlySet<AdminRouteName> = new Set(["createCredential", "createGrant", "applyGrants"]);
/** The routes that change something in an existing tenant. */
const changing: ReadonlySet<AdminRouteName> = new Set([
  "deriveGrant",
  "changeNamespaces",
  "approveEscalation",
  "addInvariant",
]);

/** Agents cannot act in the operators' own tenant, so nothing can be granted there. What exists there can be revoked. */
export function requireTenantOfAgents(name: AdminRouteName, input: unknown): void {
  if (name === "createCredential" || (!beginning.has(name) && !changing.has(name))) return;
  if ((input as { namespaceId: string }).namespaceId === operatorsTenant)
    throw invalid(
      `/namespaceId: ${operatorsTenant} is the tenant of the operators, in which no agent can act. Name another one.`,
    );
}

/** Refuses changes of a deleted tenant. Once its rows are removed, a new tenant may take its name. */
export async function requireLivingTenant(
  { stores, removeDeletedTenants }: AdminServices,
  name: AdminRouteName,
  input: unknown,
): Promise<void> {
  if (!beginning.has(name) && !changing.has(name)) return;
  const { namespaceId, dryRun } = input as { namespaceId?: string; dryRun?: boolean };
  // What is about every tenant.
  if (namespaceId === undefined) return;
  if (dryRun === true) return requireNotBeingDeleted({ stores }, namespaceId);
  const isThere = beginning.has(name)
    ? await stores.tenants.reopen(namespaceId)
    : !(await stores.tenants.isDeleted(namespaceId));
  if (isThere) return;
  removeDeletedTenants();
  throw tenantDeleted();
}

/** Refuses changes of a deleted tenant whose rows are not all removed yet. */
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
