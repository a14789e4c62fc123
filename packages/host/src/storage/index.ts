export { advisoryLocks } from "./advisory-locks.ts";
export type { Database } from "./database.ts";
export { type DatabaseSettings, DatabaseSettingsSchema, PoolerError } from "./database-settings.ts";
export { distinctNames } from "./distinct-names.ts";
export { limitRows } from "./limit-rows.ts";
export { freePages } from "./free-pages.ts";
export { listDurabilityRisks } from "./durability.ts";
export { acceptGaps, countLost, type Gap, readGapStates, readOpenGaps, storeGap } from "./history/gaps.ts";
export { DatabaseWentBackError } from "./history/history.ts";
export { findLostChains, type LostChain } from "./history/lost-chains.ts";
export { databaseEpoch, inspectDatabase } from "./inspect-database.ts";
export { ownEpoch } from "./migrate.ts";
export { OutdatedHostError, requireEpochSql } from "./schema-epoch.ts";
export { openDatabase } from "./open-database.ts";
export { livingHosts, lockedHosts } from "./living-hosts.ts";
export { isOutage, outageReason } from "./outage.ts";
export { checkBackup } from "./check-backup.ts";
export { copyStopped } from "./sqlite/open-sqlite.ts";
export { openDraft } from "./restore-draft.ts";
export { revokeAllCredentials, settleRestored, type Settled } from "./settle-restored.ts";
export { readNewestTime } from "./newest-time.ts";
export { type DatabaseCopy, NoRoomError } from "./sqlite/copy.ts";
export { createReadCache, type ReadCache } from "./read-cache.ts";
export { currentBasis, type ReadBasis } from "./read-basis.ts";
export { createRevisions, lockRevision, type Revisions } from "./revisions.ts";
export type { Schema } from "./schema.ts";
export {
  NothingChangedError,
  stepOf,
  UnansweredCommitError,
  type RunSteps,
  type Step,
  type StepResult,
} from "./steps.ts";
export { watchWrites } from "./write-watch.ts";
export { DamagedDatabaseError } from "./sqlite/whole-file.ts";
