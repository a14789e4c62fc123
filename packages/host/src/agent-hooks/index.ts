export { answerHook } from "./answer-hook.ts";
export type { HookActState, HookGate } from "./hook-gate.ts";
export { codingAgents, readHook, type CodingAgent } from "./read-hook.ts";
