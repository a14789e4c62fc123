export { protectFromReplay } from "./replay-api.ts";
export { createReplayStore, type ReplayStore } from "./replay-store.ts";
export { createUsageStore, type HostUsageStore } from "./usage-store.ts";
