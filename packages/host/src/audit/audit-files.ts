import { basename, join } from "node:path";
import { dataFolder } from "../access/admin-token.ts";
import type { Config } from "../compose/config.ts";
import { isPostgres } from "../storage/location.ts";

type Settings = Pick<Config, "database" | "audit">;

/** Where the key is that checkpoints are signed with. */
export function auditKeyFile(config: Settings): string {
  return config.audit.keyFile ?? join(dataFolder(config), "audit-key.pem");
}

/** Where checkpoints are kept: under the database's own name, since several may have their files in one folder. */
export function checkpointFile(config: Settings): string {
  const { database, audit } = config;
  const [, inUrl] = /^\w+:\/\/[^/?]*\/([^/?]+)/.exec(database) ?? [];
  const name = isPostgres(database) ? (inUrl ?? "postgres") : basename(database);
  return audit.checkpointFile ?? join(dataFolder(config), `${name.replaceAll(/[^\w.-]/g, "_")}.checkpoints.jsonl`);
}
