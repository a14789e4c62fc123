export { type Anchor, removeExported, signAnchorsAnew } from "./anchors.ts";
export { AuditExportError, exportPages, type ExportPage } from "./audit-export.ts";
export { type ExportEnd, verifyExport, writeExport } from "./export-file.ts";
export { auditKeyFile, checkpointFile } from "./audit-files.ts";
export { AuditSettingsSchema } from "./audit-settings.ts";
export type { AuditPlace } from "./audit-list.ts";
export type { TailRow } from "./audit-tail.ts";
export { type AuditStore, createAuditStore } from "./audit-store.ts";
export type { Break, SignedHead, AuditPart } from "./audit-verify.ts";
export { appendLines, isThere, readCheckpoints, readUnproved } from "./checkpoint-file.ts";
export { beginning, CheckpointError, headsOfTenant, parseLine, placeBehind } from "./checkpoint.ts";
export { type Checkpoints, createCheckpoints } from "./checkpoints.ts";
export { createTrust, retiredKeys, type Trust } from "./handover.ts";
export { type KeyRotation, refuseHalfRotated, rotateKey } from "./rotate-key.ts";
export { appendRestore, createNewestHeads, createRestores, type SignedGap } from "./restores.ts";
export { holdAgainstCheckpoints } from "./hold-against-checkpoints.ts";
export {
  openSigningKey,
  parseVerifyingKey,
  readVerifyingKey,
  type SigningKey,
  type VerifyingKey,
} from "./signing-key.ts";
