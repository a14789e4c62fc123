import type { Logger } from "kysely";
import type { Database } from "./database.ts";
import { isPostgres } from "../base/index.ts";
import { openSqlite } from "./sqlite/open-sqlite.ts";

/** Opens and migrates the database: a `postgres://` URL, or the path of an SQLite file. `log` is told of each statement. */
export async function openDatabase(location: string, log?: Logger): Promise<Database> {
  if (!isPostgres(location)) return openSqlite(location, log);
  const { openPostgres } = await import("./postgres.ts");
  return openPostgres(location, log);
}
