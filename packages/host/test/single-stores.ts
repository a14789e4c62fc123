/** Stores that are tested alone: each has the ledger of its database for itself, which in a host all of them share. */
import { createAuditStore, type AuditStore } from "../src/audit/index.ts";
import {
  createReplayStore,
  createUsageStore,
  openLedger,
  type HostUsageStore,
  type ReplayStore,
} from "../src/ledger/index.ts";
import type { Database } from "../src/storage/index.ts";

export function auditStoreOf(database: Database): AuditStore {
  return createAuditStore(database, openLedger(database));
}

export function replayStoreOf(database: Database, limits?: Parameters<typeof createReplayStore>[2]): ReplayStore {
  return createReplayStore(database, openLedger(database), limits);
}

export function usageStoreOf(database: Database): HostUsageStore {
  return createUsageStore(database, openLedger(database));
}
