export { RetentionSettingsSchema, retentionKinds } from "./retention-kinds.ts";
export { auditRetention, exportFolder } from "./audit-retention.ts";
export { createRetention, removeOld, type Retention } from "./retention.ts";
