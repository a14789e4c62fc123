import { basename, join } from "node:path";
import type { z } from "zod";
import { dataFolder, isPostgres } from "../base/index.ts";
import type { AuditSettingsSchema } from "./audit-settings.ts";

interface Settings {
  database: string;
  audit: z.infer<typeof AuditSettingsSchema>;
}

/** Where the key is that checkpoints are signed with. */
export function auditKeyFile(config: Settings): string {
  return config.audit.keyFile ?? join(dataFolder(config.database), "audit-key.pem");
}

/** Where checkpoints are kept: under the database's own name, since several may have their files in one folder. */
export function checkpointFile(config: Settings): string {
  const { database, audit } = config;
  const [, inUrl] = /^\w+:\/\/[^/?]*\/([^/?]+)/.exec(database) ?? [];
  const name = isPostgres(database) ? (inUrl ?? "postgres") : basename(database);
  return (
    audit.checkpointFile ?? join(dataFolder(config.database), `${name.replaceAll(/[^\w.-]/g, "_")}.checkpoints.jsonl`)
  );
}
