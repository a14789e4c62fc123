import { principalKey, type PrincipalRef } from "turnpike/contracts";
import { KernelError } from "turnpike/kernel";
import { columnText, sha256 } from "../../shared/index.ts";
import type { AdminInput, Settings } from "../../admin-contract/index.ts";
import { acrossTenants } from "./across-tenants.ts";
import { conflict, invalid, paginate, type AdminOperations, type AdminServices } from "./admin-services.ts";

const tooMany = "/update/enable: expected at most 256 tool namespaces to be on.";

/** Reading and changing the tool namespaces of any actor. */
export function namespaceOperations(
  services: AdminServices,
): AdminOperations<"readNamespaces" | "listNamespaces" | "changeNamespaces"> {
  const { toolNamespaces } = services;
  const { settings } = services.stores;
  type ListInput = AdminInput<"listNamespaces"> & { namespaceId: string };
  const shown = (namespaceId: string, actor: PrincipalRef, enabled: readonly string[]): Settings => {
    const known = [...new Set([...toolNamespaces(namespaceId), ...enabled])].toSorted();
    return { namespaceId, actor, enabled: [...enabled], known, version: versionOf(enabled) };
  };
  return {
    readNamespaces: async ({ namespaceId, actor }) =>
      shown(namespaceId, actor, await settings.enabled(namespaceId, actor)),
    listNamespaces: acrossTenants(services, "settings", async ({ namespaceId, actor, limit, cursor }: ListInput) => {
      const { items, next } = await paginate(
        limit,
        (most) => settings.list(namespaceId, { actor, after: cursor, limit: most }),
        ({ actor: of }) => columnText(principalKey(of)),
      );
      return { settings: items.map((one) => shown(namespaceId, one.actor, one.enabled)), ...next };
    }),
    async changeNamespaces({ namespaceId, actor, update, expectedVersion }, operator) {
      const metadata = { enable: update.enable ?? [], disable: update.disable ?? [] };
      return operator.change({ namespaceId, action: "namespaces.update", receiver: actor, metadata }, async () => {
        const before = await settings.enabled(namespaceId, actor);
        const isExpected = expectedVersion === undefined || expectedVersion === versionOf(before);
        const expected = expectedVersion === undefined ? undefined : before;
        const enabled = isExpected ? await change(namespaceId, actor, update, expected) : undefined;
        if (enabled === undefined) throw conflict("/expectedVersion: these settings were changed since.");
        return shown(namespaceId, actor, enabled);
      });
    },
  };

  async function change(
    namespaceId: string,
    actor: PrincipalRef,
    update: { enable?: string[] | undefined; disable?: string[] | undefined },
    expected: readonly string[] | undefined,
  ): Promise<readonly string[] | undefined> {
    try {
      return await settings.change({ namespaceId, actor }, update, expected);
    } catch (error) {
      if (error instanceof KernelError && error.code === "invalid_request") throw invalid(tooMany);
      throw error;
    }
  }
}

function versionOf(enabled: readonly string[]): string {
  return sha256(JSON.stringify(enabled)).slice(0, 16);
}
