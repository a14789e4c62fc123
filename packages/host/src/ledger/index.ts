export { ClaimTakenError, createDecisionLedger, recordEvent } from "./call-claim.ts";
export { protectFromReplay } from "./replay-api.ts";
export { createReplayStore, type ReplayStore } from "./replay-store.ts";
export { createUsageStore, type HostUsageStore } from "./usage-store.ts";
export { entryOf, expectedRow, origin, rowBehind, type Head, type StrandHead, type TenantHead } from "./chain.ts";
export { openLedger, type Ledger } from "./ledger.ts";
