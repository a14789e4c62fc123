// docs/concepts/run-states.md draws the states of a run, and says who may write in each.
export { createTurnJournal, type TurnJournalStore } from "./journal/journal-store.ts";
export type { LiveTurnRow } from "./journal/live-turns.ts";
export { writeEventsWithTurns } from "./journal/pending-events.ts";
export { actorOf } from "./journal/turn-rows.ts";
export { type ModelConfig, RuntimeConfigSchema } from "./runtimes/model/runtime-config.ts";
export { modelsIn, openModel } from "./runtimes/model/providers.ts";
export { openRuntimes, type Runtimes } from "./runtimes/open-runtime.ts";
export { createOutdatedHost, type OutdatedHost, outdatedReason } from "./outdated-host.ts";
export { answerKnownTurns } from "./known-turns.ts";
export { createTurnEngine, type TurnEngine } from "./turn-engine.ts";
export { limitTurns, openTurnSlots } from "./turn-limit.ts";
export { turnLimitsOf, type TurnSlots } from "./turn-slots.ts";
