export { answerHook } from "./answer-hook.ts";
export { refuseHook } from "./hook-answer.ts";
export type { HookActState, HookGate } from "./hook-gate.ts";
export { codingAgents, readHook, type CodingAgent } from "./read-hook.ts";
