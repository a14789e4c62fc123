export { connectGate } from "turnpike/client";
export type { Needs } from "../core/index.ts";
export { govern, type LangChainOptions } from "./govern.ts";
export { governed, type GovernedMiddleware } from "./middleware.ts";
