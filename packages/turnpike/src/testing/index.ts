export { accessGuardSuite, type AccessGuardUnderTest } from "./access-guard-suite.ts";
export { actStoreSuite } from "./act-store-suite.ts";
export { auditSinkSuite, type AuditSinkUnderTest } from "./audit-sink-suite.ts";
export { budgetStoreSuite } from "./budget-store-suite.ts";
export { grantSourceSuite, type GrantSourceUnderTest } from "./grant-source-suite.ts";
export { memoryAccess, type MemoryAccess } from "./memory-access.ts";
export { memoryActs, type MemoryActOptions } from "./memory-acts.ts";
export { memoryAudit, type MemoryAudit } from "./memory-audit.ts";
export { memoryBudgets } from "./memory-budgets.ts";
export { memoryGrants, type MemoryGrants } from "./memory-grants.ts";
export { memoryMessages, type MemoryMessages } from "./memory-messages.ts";
export {
  memoryNamespaceSettings,
  type MemoryNamespaceSettings,
  type SettingsHolder,
} from "./memory-namespace-settings.ts";
export { memoryPermits, type AskedAct, type MemoryPermitOptions, type MemoryPermits } from "./memory-permits.ts";
export { memoryResources, type MemoryResources } from "./memory-resources.ts";
export { memoryTurnJournal, type MemoryTurnJournal } from "./memory-turn-journal.ts";
export { memoryUsage } from "./memory-usage.ts";
export { messageTransportSuite, type MessageTransportUnderTest } from "./message-transport-suite.ts";
export { namespaceSettingsSuite } from "./namespace-settings-suite.ts";
export { permitStoreSuite, type PermitStoreUnderTest } from "./permit-store-suite.ts";
export type { PortCase } from "./port-case.ts";
export { scriptedDriver, type ScriptedCall, type ScriptedStep } from "./scripted-driver.ts";
export { turnJournalSuite } from "./turn-journal-suite.ts";
export type { TurnJournalUnderTest } from "./turn-journal-turns.ts";
export { usageStoreSuite } from "./usage-store-suite.ts";
