import { rm } from "node:fs/promises";
import { join } from "node:path";
import {
  AuditExportError,
  exportPages,
  holdAgainstCheckpoints,
  removeExported,
  verifyExport,
  writeExport,
  type AuditStore,
  type Checkpoints,
  type ExportPage,
  type SigningKey,
} from "../audit/index.ts";
import { dataFolder, sha256 } from "../shared/index.ts";
import type { Log } from "../telemetry/index.ts";
import type { Database, DatabaseSettings } from "../storage/index.ts";
import type { RetentionTask, RunStep } from "./retention.ts";

/** What exporting and removing rows of audit logs uses. */
export interface AuditRetentionParts {
  database: Database;
  audit: Pick<AuditStore, "listHeads" | "readAnchors" | "findBreak">;
  checkpoints: Pick<Checkpoints, "headsOf">;
  key: SigningKey;
  /** Where exports are written. */
  folder: string;
  log: Log;
}

const dayMs = 86_400_000;
const tenantsAtOnce = 100;
/** The rows of a strand that go into one file; what is left goes into the next. */
const rowsPerFile = 100_000;

/** Where exports are written unless a setting says otherwise. */
export function exportFolder(database: DatabaseSettings, auditFolder: string | undefined): string {
  return auditFolder ?? join(dataFolder(database), "audit-exports");
}

/** The task that exports and removes rows of audit logs. It removes whole days, so a tenant gets at most one file a day. */
export function auditRetention(parts: AuditRetentionParts, retainDays: number): RetentionTask {
  return {
    name: "audit",
    async run(now, step) {
      const before = new Date(Math.floor(now.getTime() / dayMs - retainDays) * dayMs).toISOString();
      let removed = 0;
      for await (const tenant of listTenants(parts)) {
        try {
          removed += await exportAndRemove(parts, tenant, { now: new Date(), before }, step);
        } catch (error) {
          // A broken audit log stays as it is. Those of other tenants are still exported.
          if (!(error instanceof AuditExportError)) throw error;
          parts.log.error({ tenant, says: error.message }, "could not export audit rows, will leave them and retry");
        }
      }
      return removed;
    },
  };
}

/**
 * Exports rows of a tenant and then removes them. INVARIANT: a row is removed only after the file that contains it is on the
 * disk and was read back. After a host was killed in between, the same rows are exported once more.
 */
export async function exportAndRemove(
  parts: AuditRetentionParts,
  namespaceId: string,
  range: { now: Date; before?: string },
  step: RunStep,
): Promise<number> {
  const { database, key, folder, log } = parts;
  let removed = 0;
  for (;;) {
    const source = { db: database.reporting, namespaceId, key };
    const pages = exportPages(source, { ...range, maxRows: rowsPerFile });
    const heads: NonNullable<ExportPage["head"]>[] = [];
    const first = await pages.next();
    if (first.done === true || first.value.next?.ends.length === 0) return removed;
    const { value: begun } = first;
    const file = join(folder, fileName(namespaceId));
    try {
      await writeExport(file, watch());
      await requireCheckpoints(parts, namespaceId, step);
    } catch (error) {
      if (!(error instanceof AuditExportError)) throw error;
      await rm(file, { force: true });
      if (await hasMoved(parts, namespaceId, begun.next?.from ?? [])) continue;
      throw error;
    }
    const { rows } = await verifyExport(file, key);
    log.info({ tenant: namespaceId, rows, file }, "audit rows exported");
    for (const head of heads) {
      const gone = await step(() => removeExported(database, namespaceId, head, key));
      // Another host was faster, or rows were changed: the next export finds out which.
      if (gone === undefined) break;
      removed += gone;
    }

    async function* watch(): AsyncGenerator<ExportPage> {
      yield begun;
      for (let page = await step(() => pages.next()); page.done !== true; page = await step(() => pages.next())) {
        if (page.value.head !== undefined) heads.push(page.value.head);
        yield page.value;
      }
    }
  }
}

/**
 * Throws unless the audit log has every head that was signed for it. INVARIANT: an anchor replaces the checkpoints before it,
 * so none is signed for rows that contradict them: a log that was rewritten would verify from then on.
 */
async function requireCheckpoints(
  { audit, checkpoints, key }: AuditRetentionParts,
  namespaceId: string,
  step: RunStep,
): Promise<void> {
  const { anchors } = await audit.readAnchors(namespaceId, key);
  const inSteps: typeof audit.findBreak = (...given) => step(() => audit.findBreak(...given));
  const { broken } = await holdAgainstCheckpoints({ audit: { findBreak: inSteps }, checkpoints }, namespaceId, anchors);
  if (broken !== undefined) throw new AuditExportError(`${broken.why.replace(/\.$/, "")}. See \`audit verify\`.`);
}

/** Whether another host has removed rows since an export began. Those rows are missing, but the audit log is not broken. */
async function hasMoved(
  { audit, key }: AuditRetentionParts,
  namespaceId: string,
  from: readonly { strand: number; sequence: number }[],
): Promise<boolean> {
  const { anchors } = await audit.readAnchors(namespaceId, key);
  return from.some((begin) =>
    anchors.some(({ strand, sequence }) => strand === begin.strand && sequence > begin.sequence),
  );
}

async function* listTenants({ audit }: AuditRetentionParts): AsyncGenerator<string> {
  let last: Awaited<ReturnType<typeof audit.listHeads>>[number] | undefined;
  for (;;) {
    const page = await audit.listHeads(last, tenantsAtOnce);
    for (const head of page) {
      if (head.namespaceId !== last?.namespaceId) yield head.namespaceId;
      last = head;
    }
    if (page.length < tenantsAtOnce) return;
  }
}

/** A name that no other export has. It contains the tenant and the time. */
function fileName(tenant: string): string {
  const name = tenant.replaceAll(/[^\w-]/g, "_").slice(0, 60);
  const at = new Date().toISOString().replaceAll(/[:.]/g, "-");
  return `${name}-${sha256(tenant).slice(0, 8)}-${at}-${crypto.randomUUID().slice(0, 8)}.jsonl`;
}
