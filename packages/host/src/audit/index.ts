export { type Anchor, removeExported } from "./anchors.ts";
export { AuditExportError, exportPages, type ExportPage } from "./audit-export.ts";
export { type ExportEnd, verifyExport, writeExport } from "./export-file.ts";
export { auditKeyFile, checkpointFile } from "./audit-files.ts";
export { AuditSettingsSchema } from "./audit-settings.ts";
export type { AuditPlace } from "./audit-list.ts";
export { type AuditStore, createAuditStore } from "./audit-store.ts";
export type { Break, SignedHead, TrailPart } from "./audit-verify.ts";
export { appendLines, isThere, readCheckpoints } from "./checkpoint-file.ts";
export { beginning, CheckpointError, headsOfTenant, parseLine, placeBehind, requireSignature } from "./checkpoint.ts";
export { type Checkpoints, createCheckpoints } from "./checkpoints.ts";
export { holdAgainstCheckpoints } from "./hold-against-checkpoints.ts";
export {
  openSigningKey,
  parseVerifyingKey,
  readVerifyingKey,
  type SigningKey,
  type VerifyingKey,
} from "./signing-key.ts";
