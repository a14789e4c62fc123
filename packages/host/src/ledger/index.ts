export { createActStore, type HostActStore } from "./act-store.ts";
export { alternativesOf, ClaimTakenError, createDecisionLedger, recordEvent } from "./call-claim.ts";
export {
  fencedMessage,
  interruptedReplay,
  pendingReplay,
  protectFromReplay,
  replayErrors,
  turnFingerprint,
} from "./replay-api.ts";
export { createReplayStore, type ReplayStore } from "./replay-store.ts";
export { createLossStore, type LossStore } from "./loss-store.ts";
export { refuseOnLoss } from "./refuse-on-loss.ts";
export { createUsageStore, type HostUsageStore } from "./usage-store.ts";
export { entryOf, expectedRow, origin, rowBehind, type Head, type StrandHead, type TenantHead } from "./chain.ts";
export { permitPrefix, permitUse } from "./submission.ts";
export type {
  Alternative,
  NewTurn,
  Notice,
  NoticesOf,
  OpenTurnLimits,
  Outcome,
  RunLine,
  TurnAsker,
  TurnStopColumns,
  TurnWrite,
} from "./submission.ts";
export { openLedger, type Ledger } from "./ledger.ts";
export { createRetryQueue } from "./retry-queue.ts";
