export { createLiveTenants, type LiveOptions, type LiveTenants } from "./live-tenants.ts";
export { openEventStream } from "./event-stream.ts";
export { parseCursor } from "./audit-cursor.ts";
