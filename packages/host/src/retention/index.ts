export { RetentionSettingsSchema, retentionKinds } from "./retention-kinds.ts";
export { createRetention, type Retention } from "./retention.ts";
