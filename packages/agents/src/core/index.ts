export { createGovernor, type AgentCall, type Governor, type GovernOptions } from "./governor.ts";
export type { Needs } from "./needs.ts";
export { ToolRefusedError } from "./refusal.ts";
