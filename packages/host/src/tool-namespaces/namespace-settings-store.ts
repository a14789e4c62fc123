import type { Transaction } from "kysely";
import { parsePrincipal, principalKey, type NamespaceUpdate, type PrincipalRef } from "turnpike/contracts";
import { KernelError, type ToolNamespaceSettingsStore } from "turnpike/kernel";
import { columnText } from "../shared/index.ts";
import type { Database, ReadCache, Revisions, Schema } from "../storage/index.ts";

/** Which tool namespaces are on, for each actor of each tenant. */
export interface NamespaceSettingsStore extends ToolNamespaceSettingsStore {
  enabled(namespaceId: string, actor: PrincipalRef): Promise<readonly string[]>;
  /** The actors of a tenant that have settings, in the order of `kind:id`: those after `after`, or a single one. */
  list(
    namespaceId: string,
    options: { actor?: PrincipalRef | undefined; after?: string | undefined; limit: number },
  ): Promise<{ actor: PrincipalRef; enabled: readonly string[] }[]>;
  /** Applies a patch. Changes nothing and returns undefined when the selection is not the expected one. */
  change(
    of: { namespaceId: string; actor: PrincipalRef },
    update: NamespaceUpdate,
    expected?: readonly string[],
  ): Promise<readonly string[] | undefined>;
}

/** An access context holds at most this many. */
const maxEnabled = 256;

/** Patches for one actor run one after the other, because the first write of a patch locks the actor's row. */
export function createNamespaceSettingsStore(
  { db, reporting }: Database,
  cache: ReadCache,
  revisions: Revisions,
): NamespaceSettingsStore {
  const change: NamespaceSettingsStore["change"] = (
    { namespaceId, actor },
    { enable = [], disable = [] },
    expected,
  ) => {
    return revisions.write((transaction) =>
      changeNamespaces(transaction, { namespaceId, actor }, { enable, disable }, expected),
    );
  };
  return {
    enabled(namespaceId, actor) {
      const key = columnText(principalKey(actor));
      return cache.get(`settings ${key}\0${namespaceId}`, async () => {
        const row = await db
          .selectFrom("namespace_settings")
          .select("enabled")
          .where("namespace_id", "=", columnText(namespaceId))
          .where("actor", "=", key)
          .executeTakeFirst();
        return Object.freeze(row === undefined ? [] : (JSON.parse(row.enabled) as string[]));
      });
    },
    async list(namespaceId, { actor, after, limit }) {
      let all = reporting
        .selectFrom("namespace_settings")
        .select(["actor", "enabled"])
        .where("namespace_id", "=", columnText(namespaceId))
        .orderBy("actor")
        .limit(limit);
      if (actor !== undefined) all = all.where("actor", "=", columnText(principalKey(actor)));
      if (after !== undefined) all = all.where("actor", ">", columnText(after));
      return (await all.execute()).flatMap((row) => {
        // An actor that no column can store is stored as a hash, and has no name here.
        const principal = actor ?? parsePrincipal(row.actor);
        return principal === undefined ? [] : [{ actor: principal, enabled: JSON.parse(row.enabled) as string[] }];
      });
    },
    change,
    async applyUpdate(context, update) {
      return (await change(context, update)) ?? [];
    },
  };
}

/** Applies a patch in a transaction that ends a revision. Changes nothing and returns undefined when the selection is not the expected one. */
export async function changeNamespaces(
  transaction: Transaction<Schema>,
  { namespaceId, actor }: { namespaceId: string; actor: PrincipalRef },
  { enable = [], disable = [] }: NamespaceUpdate,
  expected?: readonly string[],
): Promise<readonly string[] | undefined> {
  const mine = { namespace_id: columnText(namespaceId), actor: columnText(principalKey(actor)) };
  const row = await transaction
    .insertInto("namespace_settings")
    .values({ ...mine, enabled: "[]" })
    .onConflict((conflict) =>
      conflict
        .columns(["namespace_id", "actor"])
        .doUpdateSet((old) => ({ enabled: old.ref("namespace_settings.enabled") })),
    )
    .returning("enabled")
    .executeTakeFirstOrThrow();
  if (expected !== undefined && row.enabled !== JSON.stringify(expected)) return undefined;
  const selection = new Set([...(JSON.parse(row.enabled) as string[]), ...enable]);
  for (const namespace of disable) selection.delete(namespace);
  if (selection.size > maxEnabled) throw new KernelError("invalid_request");
  const enabled = [...selection].toSorted();
  await transaction
    .updateTable("namespace_settings")
    .set({ enabled: JSON.stringify(enabled) })
    .where("namespace_id", "=", mine.namespace_id)
    .where("actor", "=", mine.actor)
    .execute();
  return enabled;
}
