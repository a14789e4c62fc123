import type { Checkpoints, SigningKey } from "../audit/index.ts";
import type { Log } from "../telemetry/index.ts";
import {
  auditRetention,
  createRetention,
  exportFolder,
  judgeTime,
  removeEndedGrants,
  removeOld,
  retentionKinds,
  retentionLocks,
  tenantDeletion,
} from "../retention/index.ts";
import type { Database } from "../storage/index.ts";
import type { Config } from "./config.ts";
import type { Stores } from "./stores.ts";

/** What removing things uses. */
interface RetentionParts {
  database: Database;
  stores: Stores;
  checkpoints: Checkpoints;
  key: SigningKey;
  log: Log;
  clock(): Date;
}

/** What this host removes in the background: what is older than its retention, and what is left of deleted tenants. */
export function openRetention(
  config: Config,
  { database, stores, checkpoints, key, log, clock }: RetentionParts,
): { start(): void; removeDeletedTenants(): void; close(): Promise<void> } {
  const { auditDays, auditFolder, endedGrantsDays } = config.retention;
  const folder = exportFolder(config.database, auditFolder);
  const auditLogs = { database, audit: stores.audit, checkpoints, key, folder, log };
  const age = createRetention({
    database,
    tasks: [
      removeEndedGrants(stores.grants, endedGrantsDays),
      ...retentionKinds(config, database, stores.replay).map(removeOld),
      ...(auditDays === undefined ? [] : [auditRetention(auditLogs, auditDays)]),
    ],
    log,
    now: () => judgeTime(database, clock(), log),
    lock: retentionLocks.age,
  });
  const deletion = createRetention({
    database,
    tasks: [tenantDeletion({ ...auditLogs, tenants: stores.tenants })],
    log,
    now: () => Promise.resolve(clock()),
    lock: retentionLocks.tenant,
  });
  return {
    start() {
      age.start();
      deletion.start();
      void deletion.run();
    },
    removeDeletedTenants: () => void deletion.run(),
    async close() {
      await Promise.all([age.close(), deletion.close()]);
    },
  };
}
