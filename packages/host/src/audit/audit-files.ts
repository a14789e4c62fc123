import { basename, join } from "node:path";
import type { z } from "zod";
import { dataFolder, isPostgres, locationOf } from "../shared/index.ts";
import type { DatabaseSettings } from "../storage/index.ts";
import type { AuditSettingsSchema } from "./audit-settings.ts";

interface Settings {
  database: DatabaseSettings;
  audit: z.infer<typeof AuditSettingsSchema>;
}

/** Where the key is that checkpoints are signed with. */
export function auditKeyFile(config: Settings): string {
  return config.audit.keyFile ?? join(dataFolder(config.database), "audit-key.pem");
}

/** Where checkpoints are stored: under the database's own name, since several may have their files in one folder. */
export function checkpointFile(config: Settings): string {
  const { audit } = config;
  const database = locationOf(config.database);
  const [, inUrl] = /^\w+:\/\/[^/?]*\/([^/?]+)/.exec(database) ?? [];
  const name = isPostgres(database) ? (inUrl ?? "postgres") : basename(database);
  return (
    audit.checkpointFile ?? join(dataFolder(config.database), `${name.replaceAll(/[^\w.-]/g, "_")}.checkpoints.jsonl`)
  );
}
