export { connectGate } from "turnpike/client";
export type { GovernOptions, Needs } from "../core/index.ts";
export { ToolRefusedError } from "../core/index.ts";
export { approvals, type ToolApproval } from "./approvals.ts";
export { govern } from "./govern.ts";
