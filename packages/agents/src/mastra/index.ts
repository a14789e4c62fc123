export { connectGate } from "turnpike/client";
export type { GovernOptions, Needs } from "../core/index.ts";
export { ToolRefusedError } from "../core/index.ts";
export { govern } from "./govern.ts";
