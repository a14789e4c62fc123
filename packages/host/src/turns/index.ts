export { type ModelConfig, RuntimeConfigSchema } from "./runtimes/model/runtime-config.ts";
export { openRuntimes, readApiKey, type Runtimes } from "./runtimes/open-runtime.ts";
export { limitTurns, openTurnSlots } from "./turn-limit.ts";
export { turnLimits, turnLimitsOf, type TurnSlots } from "./turn-slots.ts";
