export type {
  ActBegun,
  ActContext,
  ActEnd,
  ActKey,
  ActReport,
  ActStore,
  ActTaken,
  ActVerdict,
  NewAct,
  StoredAct,
} from "./act-store.ts";
export type { ActBeginning } from "./begin-act.ts";
export type { ActScope } from "./finish-act.ts";
export type { TurnAdmission, TurnToAdmit } from "./admit-turn.ts";
export { type Inactivity, prepareGrant } from "./active.ts";
export { requestHash } from "./approval.ts";
export { maxDelegationLinks, type ChainVerdict } from "./chain.ts";
export type { BudgetRef, BudgetStore, BudgetSum, Reservation, Reserved, Spent } from "./budget-store.ts";
export { budgetWindow, type BudgetWindow } from "./budget-window.ts";
export { checkGrant, type GrantCheck, type GrantState } from "./check-grant.ts";
export type { RunningAct } from "./covers.ts";
export type { Refusal } from "./refusal.ts";
export { compareGrants, compareGrantsInSteps, type ComparisonOptions } from "./regions/compare-grants.ts";
export { everReachInSteps, type EverQuestion, type EverReach, type EverRegion } from "./regions/ever-reach.ts";
export { grantSpans, type GrantSpan } from "./regions/holding.ts";
export { findViolationsInSteps, type ViolationOptions } from "./regions/find-violations.ts";
export type {
  Counterexample,
  Invariant,
  NeverRule,
  OnlyRule,
  RuledActs,
  SeparateRule,
  Violation,
  Violations,
} from "./regions/invariant.ts";
export type { Among, ChangedRegion, GrantComparison, Place, Region, Terms } from "./regions/region.ts";
export { deriveGrant, type Derivation, type GrantInput } from "./derive.ts";
export type { Condition } from "./diagnose.ts";
export type { Explanation, GrantExplanation } from "./explain.ts";
export {
  coverageOf,
  type Coverage,
  type ExplainedReach,
  type ReachExplanation,
  type ReachScope,
} from "./explain-reach.ts";
export type { EscalationOutcome } from "./escalate.ts";
export { createKernel, type Kernel } from "./kernel.ts";
export { errorObject, KernelError, OutdatedReadsError } from "./kernel-error.ts";
export type { Mismatch } from "./match.ts";
export type {
  AccessAnswer,
  AccessGuard,
  ActToApprove,
  AuditSink,
  CallOptions,
  DecisionChoice,
  DecisionLedger,
  EscalationQueue,
  GrantScope,
  GrantSource,
  GrantUse,
  HostPolicy,
  KernelOptions,
  MessageTransport,
  Permit,
  PermitState,
  PermitStore,
  PortFailure,
  EscalationRef,
  ResourceProvider,
  ToolHandler,
  ToolNamespaceSettingsStore,
  ToolProgress,
  ToolProvider,
  UsageStore,
  VersionedGrants,
  WriteScope,
} from "./ports.ts";
export type { TurnBreak } from "./running-turn.ts";
export { defineTool, ToolError, type ToolDefinition, type ToolRun } from "./tool.ts";
export type { AdmissionRecord, BlockedReason, ShutReason } from "./call-check.ts";
export type { TurnEnd, TurnScope } from "./turn-scope.ts";
export type { EarlierRun, TurnRefusal } from "./turn-admission.ts";
export { cachedGrants, type VersionedGrantSource } from "./versioned-grants.ts";
