import { version } from "../../shared/index.ts";
import { operatorsTenant } from "../../admin-contract/index.ts";
import type { AdminOperations, AdminServices } from "./admin-services.ts";

type OverviewRoute = "listTenants" | "readActivity" | "listHosts" | "readAuditHeads";

/** How things are, at a glance. */
export function overviewOperations(services: AdminServices): AdminOperations<OverviewRoute> {
  const { stores, checkpoints, database, clock } = services;
  const { audit, escalations, tenants, turns } = stores;
  const livingTenant = async (namespaceId: string) => {
    const isThere = (await audit.isKnown(namespaceId)) && !(await tenants.isDeleted(namespaceId));
    return { names: isThere && namespaceId !== operatorsTenant ? [namespaceId] : [], next: undefined };
  };
  return {
    async listTenants({ namespaceId, limit, cursor }) {
      const { names, next } =
        namespaceId === undefined ? await tenants.listLiving(cursor, limit) : await livingTenant(namespaceId);
      const waiting = await escalations.countPendingOf(names, clock().toISOString());
      return {
        tenants: names.map((name) => ({ namespaceId: name, waiting: waiting.get(name) ?? 0 })),
        ...(next !== undefined && { cursor: next }),
      };
    },
    async readActivity({ namespaceId }) {
      const now = clock();
      const [{ isPartial, ...activity }, waiting, running] = await Promise.all([
        audit.readActivity(namespaceId, now),
        escalations.countPendingOf([namespaceId], now.toISOString()),
        turns.countOf(namespaceId),
      ]);
      return {
        ...activity,
        ...(isPartial && { isPartial }),
        waiting: waiting.get(namespaceId) ?? 0,
        turns: running,
      };
    },
    async listHosts() {
      const hosts = await turns.listHosts();
      return {
        hosts: hosts.map((host) => ({ ...host, isThis: host.id === database.hostId })),
        version,
        database: database.kind === "postgres" ? "postgresql" : "embedded",
      };
    },
    async readAuditHeads({ namespaceId }) {
      const heads = await audit.headsOf(namespaceId);
      return { heads, ...(checkpoints.last && { checkpoint: checkpoints.last }) };
    },
  };
}
