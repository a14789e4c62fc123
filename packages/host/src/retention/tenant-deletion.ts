import { sql, type Transaction } from "kysely";
import type { AuditEvent } from "turnpike/contracts";
import { AuditExportError, type AuditStore } from "../audit/index.ts";
import { removeSomeFiles } from "../files/index.ts";
import { fewRows, type Database, type Schema } from "../storage/index.ts";
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
/** A file takes longer than a row: its content may be large, and its words are looked up. */
const filesAtOnce = 20;

/**
 * The task that removes what is left of tenants that were deleted. One whose deletion was interrupted is gone on with, and
 * what a call that was under way wrote afterwards goes the next time.
 */
export function tenantDeletion(parts: DeletionParts): RetentionTask {
  return {
    name: "deleted tenants",
    async run(now, step) {
      let removed = 0;
      for (const { namespaceId } of await parts.tenants.list()) {
        removed += await removeTenant(parts, namespaceId, step);
        // Another host may have finished meanwhile, and a tenant of the same name may have begun: its trail is not this one's.
        const tenant = await parts.tenants.find(namespaceId);
        if (tenant !== undefined && tenant.finishedAt === undefined) await endTrail(parts, tenant, now, step);
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
    const few = fewRows(parts.database, table, sql`namespace_id = ${tenant}`, rowsAtOnce);
    await removeAll(async (transaction) => {
      const { numDeletedRows } = await transaction.deleteFrom(table).where(few).executeTakeFirst();
      if (numDeletedRows > 0n) return Number(numDeletedRows);
      // Rows that a call is changing right now were left out: they go as soon as it is done.
      const left = transaction.selectFrom(table).select("namespace_id").where("namespace_id", "=", tenant);
      return (await left.limit(1).executeTakeFirst()) === undefined ? 0 : 1;
    });
  }
  await removeAll((transaction) => removeSomeTurns(parts.database, transaction, tenant, rowsAtOnce));
  await removeAll((transaction) => removeSomeFiles(parts.database, transaction, tenant, filesAtOnce));
  return removed;
}

/** INVARIANT: rows of a tenant go only while it is deleted, so none of a later one of the same name does. */
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

/** Exports and removes the trail, and leaves one row behind: who deleted the tenant. The heads of its chains stay. */
async function endTrail(parts: DeletionParts, tenant: DeletedTenant, now: Date, step: RunStep): Promise<void> {
  const { namespaceId, order } = tenant;
  const { audit, tenants, log } = parts;
  let trail = "exported";
  try {
    await exportAndRemove(parts, namespaceId, { now }, step);
  } catch (error) {
    // A trail that is broken is evidence, and stays.
    if (!(error instanceof AuditExportError)) throw error;
    log.error(
      { tenant: namespaceId, says: error.message },
      "audit rows of a deleted tenant not exported, so they stay",
    );
    trail = "kept, because it is broken";
  }
  await audit.record(deletedEvent(namespaceId, order, now, trail));
  await tenants.finish(namespaceId, now.toISOString());
}

function deletedEvent(
  namespaceId: string,
  { actor, operator, at }: DeletedTenant["order"],
  now: Date,
  trail: string,
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
    metadata: { operator, begunAt: at, trail },
  };
}
