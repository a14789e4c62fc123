export type { Database } from "./database.ts";
export { heartbeat } from "./heartbeat.ts";
export { inspectDatabase } from "./inspect-database.ts";
export { openDatabase } from "./open-database.ts";
export { isOutage } from "./outage.ts";
export { livingHosts } from "./postgres.ts";
export { createReadCache, type ReadCache } from "./read-cache.ts";
export { createRevisions, type Revisions } from "./revisions.ts";
export type { Schema } from "./schema.ts";
