import { existsSync } from "node:fs";
import { sql, type Kysely } from "kysely";
import {
  auditKeyFile,
  beginning,
  CheckpointError,
  checkpointFile,
  createNewestHeads,
  openSigningKey,
  readCheckpoints,
} from "../audit/index.ts";
import type { TenantHead } from "../ledger/index.ts";
import { locationOf, programName } from "../shared/index.ts";
import { countLost, findLostChains, type LostChain, type Schema } from "../storage/index.ts";
import type { Config } from "./config.ts";

/** A file that does not have what was signed of it. The message is for the operator. */
class OlderDatabaseError extends Error {
  override readonly name = "OlderDatabaseError";
}

/**
 * Refuses an SQLite file that does not have every row that the checkpoints beside it signed: one that is empty, an older copy, or one
 * that was cut. Nothing is changed in it.
 */
export function refuseOlder(config: Config): (db: Kysely<Schema>) => Promise<void> {
  const database = locationOf(config.database);
  return async (db) => {
    const lost = await findLost(config, db);
    if (lost.length === 0) return;
    const [rows, chains] = [countLost(lost), new Set(lost.map(({ namespaceId }) => namespaceId)).size];
    throw new OlderDatabaseError(
      `The database ${database} is older than its signed checkpoints in ${checkpointFile(config)}: at least ` +
        `${counted(rows, "row")} of ${counted(chains, "audit log")} are missing. Nothing was changed. Put the newest file back, or restore a backup ` +
        `(${programName()} restore), or go on without what is lost: ${programName()} database accept-loss --database ${database}`,
    );
  };
}

/** The chains of a file that do not reach as far as was signed. What cannot be proved to be signed does not count. */
export async function findLost(config: Config, db: Kysely<Schema>): Promise<LostChain[]> {
  const heads = await readSignedHeads(config);
  if (heads.length === 0) return [];
  const isKnown = await sql`select 1 from pragma_table_info('audit_heads') where name = 'strand'`.execute(db);
  // Checkpoints are younger than such tables.
  if (isKnown.rows.length === 0) return heads.map((head) => ({ ...head, now: 0 }));
  return findLostChains(db, heads);
}

async function readSignedHeads(config: Config): Promise<TenantHead[]> {
  const [file, keyFile] = [checkpointFile(config), auditKeyFile(config)];
  if (!existsSync(file) || !existsSync(keyFile)) return [];
  const newest = createNewestHeads();
  try {
    await readCheckpoints(file, beginning, openSigningKey(keyFile), newest.take);
    return [...newest.heads.values()];
  } catch (error) {
    // The host says so when it writes the next one.
    if (error instanceof CheckpointError) return [];
    throw error;
  }
}

function counted(count: number, what: string): string {
  return `${count} ${what}${count === 1 ? "" : "s"}`;
}
