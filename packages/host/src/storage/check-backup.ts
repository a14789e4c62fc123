import { existsSync, rmSync } from "node:fs";
import { Kysely, sql, SqliteDialect } from "kysely";
import { listPending } from "./migrate.ts";
import type { Schema } from "./schema.ts";
import { SqliteFile } from "./sqlite/sqlite-file.ts";
import { DamagedDatabaseError, refuseBrokenPages, refuseDamaged } from "./sqlite/whole-file.ts";

/** What is known of a backup. */
export interface BackupFacts {
  /** When the newest row of its audit log was written. Nothing later is in the backup. */
  newestAt: string | undefined;
  /** The migrations that it lacks. */
  pending: string[];
}

/** Checks that a file is a whole database, of a version that is not newer than this one. Errors call the file `name`. */
export async function checkBackup(path: string, check: "quick" | "full", name = path): Promise<BackupFacts> {
  try {
    refuseDamaged(path);
    refuseBrokenPages(path, check);
  } catch (error) {
    throw error instanceof DamagedDatabaseError ? new Error(`${name} is no whole backup: ${error.why}.`) : error;
  }
  const hadLog = existsSync(`${path}-wal`);
  const db = new Kysely<Schema>({ dialect: new SqliteDialect({ database: new SqliteFile(path) }) });
  try {
    const made = await sql`select 1 from sqlite_master where name in ('kysely_migration', 'audit')`.execute(db);
    if (made.rows.length < 2) throw new Error(`${name} is an SQLite file, and none of Turnpike's.`);
    // No host makes triggers or views. A trigger would run with every later change, also when a restore revokes credentials.
    const { rows: acting } = await sql`select 1 from sqlite_master where type in ('trigger', 'view')`.execute(db);
    if (acting.length > 0)
      throw new Error(`${name} has triggers or views, which no host makes: it was changed by another program.`);
    const pending = await listPending(db, "sqlite");
    const { rows } = await sql<{ at: string | null }>`select max(at) as at from audit`.execute(db);
    return { newestAt: rows[0]?.at ?? undefined, pending };
  } finally {
    await db.destroy();
    if (!hadLog) for (const left of [`${path}-wal`, `${path}-shm`]) rmSync(left, { force: true });
  }
}
