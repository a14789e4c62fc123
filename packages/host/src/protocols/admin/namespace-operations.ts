import type { PrincipalRef } from "turnpike/contracts";
import { KernelError } from "turnpike/kernel";
import { sha256 } from "../../base/index.ts";
import type { Settings } from "../../management/index.ts";
import { conflict, invalid, type AdminOperations, type AdminServices } from "./admin-services.ts";

const tooMany = "/update/enable: expected at most 256 tool namespaces to be on.";

/** Reading and changing the tool namespaces of any actor. */
export function namespaceOperations({
  stores: { settings },
  toolNamespaces,
}: AdminServices): AdminOperations<"readNamespaces" | "changeNamespaces"> {
  const shown = (namespaceId: string, actor: PrincipalRef, enabled: readonly string[]): Settings => {
    const known = [...new Set([...toolNamespaces, ...enabled])].toSorted();
    return { namespaceId, actor, enabled: [...enabled], known, version: versionOf(enabled) };
  };
  return {
    readNamespaces: async ({ namespaceId, actor }) =>
      shown(namespaceId, actor, await settings.enabled(namespaceId, actor)),
    async changeNamespaces({ namespaceId, actor, update, expectedVersion }, operator) {
      const metadata = { enable: update.enable ?? [], disable: update.disable ?? [] };
      return operator.change({ namespaceId, action: "namespaces.update", receiver: actor, metadata }, async () => {
        const before = await settings.enabled(namespaceId, actor);
        const isExpected = expectedVersion === undefined || expectedVersion === versionOf(before);
        const expected = expectedVersion === undefined ? undefined : before;
        const enabled = isExpected ? await change(namespaceId, actor, update, expected) : undefined;
        if (enabled === undefined) throw conflict("/expectedVersion: somebody changed these settings since.");
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
