export { RetentionSettingsSchema, retentionKinds } from "./retention-kinds.ts";
export { auditRetention, exportFolder } from "./audit-retention.ts";
export { createRetention, removeOld, retentionLocks } from "./retention.ts";
export { judgeTime } from "./retention-clock.ts";
export { removeEndedGrants } from "./ended-grants.ts";
export { createDeletedTenants, type DeletedTenants } from "./deleted-tenants.ts";
export { tenantDeletion } from "./tenant-deletion.ts";
