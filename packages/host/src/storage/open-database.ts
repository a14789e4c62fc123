import type { Logger } from "kysely";
import type { Database } from "./database.ts";
import { isPostgres } from "../base/index.ts";
import { openPostgres } from "./postgres.ts";
import { openSqlite } from "./sqlite/open-sqlite.ts";

/** Opens and migrates the database: a `postgres://` URL, or the path of an SQLite file. `log` is told of each statement. */
export function openDatabase(location: string, log?: Logger): Promise<Database> {
  return isPostgres(location) ? openPostgres(location, log) : openSqlite(location, log);
}
