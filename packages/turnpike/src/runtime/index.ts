export { escalationTool, escalationToolName } from "./escalate.ts";
export {
  createTurnExecutor,
  type TurnExecutionOptions,
  type TurnExecutionPort,
  type TurnExecutorOptions,
  type TurnToExecute,
} from "./executor.ts";
export {
  KnownTurnError,
  TurnPause,
  type JournalEntry,
  type KnownTurn,
  type TurnFilter,
  type TurnJournal,
  type TurnKey,
  type RunWriter,
  type TurnProgress,
  type TurnToBegin,
} from "./journal.ts";
export {
  DriverError,
  type RuntimeHost,
  type RuntimeOutcome,
  type RuntimePlugin,
  type RuntimeTurn,
  type TurnLimits,
} from "./plugin.ts";
export {
  standardRuntime,
  type DriverDecision,
  type DriverInput,
  type TurnDriver,
  type TurnSession,
} from "./standard.ts";
