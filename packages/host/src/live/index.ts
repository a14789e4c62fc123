export { createLiveTenants, type LiveTenants } from "./live-tenants.ts";
export { openEventStream } from "./event-stream.ts";
export { parseCursor } from "./trail-cursor.ts";
