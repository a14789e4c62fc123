export { CallCompanion, ClaimTakenError, createDecisionLedger, recordEvent } from "./call-claim.ts";
export { protectFromReplay, replayErrors, turnFingerprint } from "./replay-api.ts";
export { createReplayStore, type ReplayStore } from "./replay-store.ts";
export { createUsageStore, type HostUsageStore } from "./usage-store.ts";
export {
  entryOf,
  expectedRow,
  origin,
  rowBehind,
  type AuditEntry,
  type Head,
  type StrandHead,
  type TenantHead,
} from "./chain.ts";
export { permitPrefix, permitUse } from "./submission.ts";
export type {
  Alternative,
  NewTurn,
  Notice,
  NoticesOf,
  OpenTurnLimits,
  RunLine,
  TurnStopColumns,
  TurnWrite,
} from "./submission.ts";
export { openLedger, type Ledger } from "./ledger.ts";
export { createUnkeptWrites } from "./unkept-writes.ts";
