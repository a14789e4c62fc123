import { z } from "zod";
import { positive } from "../base/index.ts";

export const AuditSettingsSchema = z.strictObject({
  keyFile: z.string().min(1).optional().describe("private key that checkpoints are signed with"),
  checkpointFile: z.string().min(1).optional(),
  checkpointSeconds: positive.max(86_400).default(60),
});
