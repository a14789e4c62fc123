import { sql } from "kysely";
import { auditKeyFile, checkpointFile, type KeyRotation, openSigningKey, rotateKey } from "../audit/index.ts";
import { livingHosts, openDatabase } from "../storage/index.ts";
import type { Config } from "./config.ts";

/** Rotates the key of audit checkpoints while no host runs on the database. */
export async function rotateAuditKey(config: Config, withFile: string | undefined): Promise<KeyRotation> {
  const given = withFile === undefined ? undefined : openSigningKey(withFile, { isMade: false });
  const database = await openDatabase(config.database);
  try {
    // An SQLite file has no other host.
    const others = database.isShared
      ? await sql`select 1 from ${livingHosts} as living (id) where id <> ${database.hostId}`.execute(database.db)
      : { rows: [] };
    if (others.rows.length > 0)
      throw new Error("A host runs on this database and signs with the key. Stop every host first.");
    const files = { keyFile: auditKeyFile(config), file: checkpointFile(config) };
    return await rotateKey(database, { ...files, given, at: new Date().toISOString() });
  } finally {
    await database.close();
  }
}
