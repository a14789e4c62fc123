import type { Transaction } from "kysely";
import type { PrincipalRef } from "turnpike/contracts";
import { columnText } from "../shared/index.ts";
import { CredentialAccessSchema, operatorsTenant } from "../admin-contract/index.ts";
import { type Database, distinctNames, type ReadCache, type Revisions, type Schema } from "../storage/index.ts";

/** Who deleted a tenant, and when. */
interface DeletionOrder {
  actor: PrincipalRef;
  /** The id of the operator's credential. */
  operator: string;
  at: string;
}

/** A tenant that was deleted. Some of its rows are left until `finishedAt` is set. */
export interface DeletedTenant {
  namespaceId: string;
  order: DeletionOrder;
  finishedAt?: string;
}

/** The tenants that were deleted. A row here refuses every call of its tenant, on every host. */
export interface DeletedTenants {
  /** Whether calls of a tenant are refused. It is checked for every call. */
  isDeleted(namespaceId: string): Promise<boolean>;
  find(namespaceId: string): Promise<DeletedTenant | undefined>;
  list(): Promise<DeletedTenant[]>;
  /** The next tenants with a credential, a grant or an audit log, by name. `most` are read, and deleted ones are left out. */
  listLiving(after: string | undefined, most: number): Promise<{ names: string[]; next?: string }>;
  /**
   * Deletes a tenant: from now on its calls are refused, and its credentials and those of its own operators are revoked. Does
   * nothing when it is deleted already.
   */
  begin(namespaceId: string, order: DeletionOrder): Promise<void>;
  /** Records that nothing is left. */
  finish(namespaceId: string, at: string): Promise<void>;
  /** Allows a new tenant of the same name. Returns false while something is left of the deleted one. */
  reopen(namespaceId: string): Promise<boolean>;
}

/** The tables whose rows name their tenant and are removed one by one. Counters are removed after what they count. */
export const rowTables = [
  "people",
  "authorization_requests",
  "authorization_codes",
  "connection_tokens",
  "connections",
  "credentials",
  "grants",
  "grant_makers",
  "invariants",
  "escalations",
  "escalation_answers",
  "uses",
  "namespace_settings",
  "messages",
  "inboxes",
  "replay",
  "acts",
  "waiting_acts",
  "outbox",
  "webhook_history",
] as const satisfies readonly (keyof Schema)[];

export function createDeletedTenants(
  { db, reporting }: Database,
  cache: ReadCache,
  revisions: Revisions,
): DeletedTenants {
  const rows = db.selectFrom("deleted_tenants").selectAll();
  const find: DeletedTenants["find"] = async (namespaceId) => {
    const row = await rows.where("namespace_id", "=", columnText(namespaceId)).executeTakeFirst();
    return row && read(row);
  };
  return {
    isDeleted: (namespaceId) =>
      cache.get(`deleted ${namespaceId}`, async () => (await find(namespaceId)) !== undefined),
    find,
    list: async () => (await rows.orderBy("namespace_id").execute()).map(read),
    async listLiving(after, most) {
      const column = "namespace_id";
      const columns = (["audit_heads", "credentials", "grants"] as const).map((table) => ({ table, column }));
      const found = await distinctNames(reporting, columns, { after: after && columnText(after), most: most + 1 });
      const page = found.slice(0, most);
      const among = reporting
        .selectFrom("deleted_tenants")
        .select(column)
        .where(column, "in", ["", ...page]);
      const deleted = new Set((await among.execute()).map(({ namespace_id }) => namespace_id));
      const names = page.filter((name) => name !== operatorsTenant && !deleted.has(name));
      const last = found.length > most ? page.at(-1) : undefined;
      return { names, ...(last !== undefined && { next: last }) };
    },
    begin: (namespaceId, order) =>
      revisions.write(async (transaction) => {
        const tenant = columnText(namespaceId);
        await transaction
          .insertInto("deleted_tenants")
          .values({ namespace_id: tenant, content: JSON.stringify(order), finished_at: null })
          .onConflict((conflict) => conflict.doNothing())
          .execute();
        await transaction
          .updateTable("credentials")
          .set({ revoked_at: order.at })
          .where("namespace_id", "=", tenant)
          .where("revoked_at", "is", null)
          .execute();
        // An operator of this tenant alone must not become an operator of a later tenant of the same name.
        for (const id of await operatorsOf(transaction, namespaceId))
          await transaction.updateTable("credentials").set({ revoked_at: order.at }).where("id", "=", id).execute();
      }),
    async finish(namespaceId, at) {
      await db
        .updateTable("deleted_tenants")
        .set({ finished_at: at })
        .where("namespace_id", "=", columnText(namespaceId))
        .where("finished_at", "is", null)
        .execute();
    },
    async reopen(namespaceId) {
      const deleted = await find(namespaceId);
      if (deleted === undefined) return true;
      return revisions.write(async (transaction) => {
        const tenant = columnText(namespaceId);
        // A call that was under way may have written after everything was removed. Every principal with files has a row in `owners`.
        for (const table of [...rowTables, "turns", "owners"] as const) {
          const left = transaction.selectFrom(table).select("namespace_id").where("namespace_id", "=", tenant).limit(1);
          if ((await left.executeTakeFirst()) !== undefined) return false;
        }
        const { numDeletedRows } = await transaction
          .deleteFrom("deleted_tenants")
          .where("namespace_id", "=", tenant)
          .where("finished_at", "is not", null)
          .executeTakeFirst();
        return numDeletedRows > 0n;
      });
    },
  };
}

/** The credentials of the operators of this tenant alone. */
async function operatorsOf(transaction: Transaction<Schema>, namespaceId: string): Promise<string[]> {
  const rows = await transaction
    .selectFrom("credentials")
    .select(["id", "access"])
    .where("namespace_id", "=", operatorsTenant)
    .where("revoked_at", "is", null)
    .execute();
  const isOfTenant = ({ access }: { access: string }): boolean =>
    CredentialAccessSchema.parse(JSON.parse(access)).tenant === namespaceId;
  return rows.filter(isOfTenant).map(({ id }) => id);
}

function read(row: { namespace_id: string; content: string; finished_at: string | null }): DeletedTenant {
  const { namespace_id: namespaceId, content, finished_at } = row;
  const order = JSON.parse(content) as DeletionOrder;
  return { namespaceId, order, ...(finished_at !== null && { finishedAt: finished_at }) };
}
