import { z } from "zod";
import { FileNameSchema, positive } from "../shared/index.ts";

export const AuditSettingsSchema = z.strictObject({
  keyFile: FileNameSchema.optional().describe("private key that checkpoints are signed with"),
  checkpointFile: FileNameSchema.optional(),
  checkpointSeconds: positive.max(86_400).default(60),
});
