import { sql, type Transaction } from "kysely";
import type { AuditEvent } from "turnpike/contracts";
import { AuditExportError, type AuditStore } from "../audit/index.ts";
import { removeSomeFiles } from "../files/index.ts";
import { limitRows, type Database, type Schema } from "../storage/index.ts";
import { exportAndRemove, type AuditRetentionParts } from "./audit-retention.ts";
import { rowTables, type DeletedTenant, type DeletedTenants } from "./deleted-tenants.ts";
import { removeSomeTurns } from "./old-turns.ts";
import type { RetentionTask, RunStep } from "./retention.ts";

/** What deleting tenants uses. */
export interface DeletionParts extends AuditRetentionParts {
  audit: AuditStore;
  tenants: DeletedTenants;
}

const rowsAtOnce = 200;
/** Removing a file takes longer than removing a row: its content may be large, and its words are in an index. */
const filesAtOnce = 20;

/**
 * The task that removes what is left of deleted tenants. It continues a deletion that was interrupted. What a call that was
 * under way wrote afterwards is removed by the next run.
 */
export function tenantDeletion(parts: DeletionParts): RetentionTask {
  return {
    name: "deleted tenants",
    async run(now, step) {
      let removed = 0;
      for (const { namespaceId } of await parts.tenants.list()) {
        removed += await removeTenant(parts, namespaceId, step);
        // Another host may have finished meanwhile, and a new tenant of the same name has an audit log of its own.
        const tenant = await parts.tenants.find(namespaceId);
        if (tenant !== undefined && tenant.finishedAt === undefined) await endAuditLog(parts, tenant, now, step);
      }
      return removed;
    },
  };
}

async function removeTenant(parts: DeletionParts, tenant: string, step: RunStep): Promise<number> {
  let removed = 0;
  const removeAll = async (removeSome: (transaction: Transaction<Schema>) => Promise<number>): Promise<void> => {
    for (let last = 1; last > 0; removed += last)
      last = await step(() => whileDeleted(parts.database, tenant, removeSome));
  };
  for (const table of rowTables) {
    const few = limitRows(parts.database, table, sql`namespace_id = ${tenant}`, rowsAtOnce);
    await removeAll(async (transaction) => {
      const { numDeletedRows } = await transaction.deleteFrom(table).where(few).executeTakeFirst();
      if (numDeletedRows > 0n) return Number(numDeletedRows);
      // Rows that a call is changing right now were skipped. They are removed as soon as it is done.
      const left = transaction.selectFrom(table).select("namespace_id").where("namespace_id", "=", tenant);
      return (await left.limit(1).executeTakeFirst()) === undefined ? 0 : 1;
    });
  }
  await removeAll((transaction) => removeSomeTurns(parts.database, transaction, tenant, rowsAtOnce));
  await removeAll((transaction) => removeSomeFiles(parts.database, transaction, tenant, filesAtOnce));
  return removed;
}

/** INVARIANT: rows of a tenant are removed only while it is marked as deleted, so none of a later tenant of that name is. */
function whileDeleted(
  { db, kind }: Database,
  tenant: string,
  work: (transaction: Transaction<Schema>) => Promise<number>,
): Promise<number> {
  return db.transaction().execute(async (transaction) => {
    const row = transaction.selectFrom("deleted_tenants").select("namespace_id").where("namespace_id", "=", tenant);
    const deleted = await (kind === "postgres" ? row.forUpdate() : row).executeTakeFirst();
    return deleted === undefined ? 0 : work(transaction);
  });
}

/** Exports and removes the audit log, and writes one last row: who deleted the tenant. The heads of its chains remain. */
async function endAuditLog(parts: DeletionParts, tenant: DeletedTenant, now: Date, step: RunStep): Promise<void> {
  const { namespaceId, order } = tenant;
  const { audit, tenants, log } = parts;
  let outcome = "exported";
  try {
    await exportAndRemove(parts, namespaceId, { now }, step);
  } catch (error) {
    // A broken audit log is evidence, so it is not removed.
    if (!(error instanceof AuditExportError)) throw error;
    log.error(
      { tenant: namespaceId, says: error.message },
      "could not export audit rows of a deleted tenant, will leave them",
    );
    outcome = "kept, because it is broken";
  }
  await audit.record(deletedEvent(namespaceId, order, now, outcome));
  await tenants.finish(namespaceId, now.toISOString());
}

function deletedEvent(
  namespaceId: string,
  { actor, operator, at }: DeletedTenant["order"],
  now: Date,
  outcome: string,
): AuditEvent {
  return {
    id: crypto.randomUUID(),
    version: 1,
    type: "operator.changed",
    outcome: "succeeded",
    at: now.toISOString(),
    traceId: crypto.randomUUID(),
    namespaceId,
    actor,
    owner: actor,
    purpose: "operate",
    action: "tenant.deleted",
    metadata: { operator, begunAt: at, trail: outcome },
  };
}
