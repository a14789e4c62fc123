export { createTurnJournal, type TurnJournalStore } from "./journal/journal-store.ts";
export { type ModelConfig, RuntimeConfigSchema } from "./runtimes/model/runtime-config.ts";
export { modelsIn, openModel } from "./runtimes/model/providers.ts";
export { openRuntimes, type Runtimes } from "./runtimes/open-runtime.ts";
export { answerKnownTurns } from "./known-turns.ts";
export { createTurnEngine, type TurnEngine } from "./turn-engine.ts";
export { limitTurns, openTurnSlots } from "./turn-limit.ts";
export { turnLimits, turnLimitsOf, type TurnSlots } from "./turn-slots.ts";
