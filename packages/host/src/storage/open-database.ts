import type { Logger } from "kysely";
import type { Database } from "./database.ts";
import { isPostgres, locationOf } from "../shared/index.ts";
import type { DatabaseSettings } from "./database-settings.ts";
import { type CheckDatabase, openSqlite } from "./sqlite/open-sqlite.ts";

/** Opens and migrates the database. `log` is told of each statement. `check` may refuse a file before anything is changed in it. */
export async function openDatabase(database: DatabaseSettings, log?: Logger, check?: CheckDatabase): Promise<Database> {
  if (!isPostgres(database)) return openSqlite(locationOf(database), { log, check });
  const { openPostgres } = await import("./postgres.ts");
  return openPostgres(typeof database === "string" ? { url: database } : database, log);
}
