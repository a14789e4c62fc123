import { chmodSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** A database as it is configured: its location, or a PostgreSQL with what has to be known of the way to it. */
type DatabaseSetting = string | { readonly url: string };

/** The URL of a PostgreSQL, or the path of an SQLite file. */
export function locationOf(database: DatabaseSetting): string {
  return typeof database === "string" ? database : database.url;
}

/** Whether the location of a database is the URL of a PostgreSQL. Any other location is the path of an SQLite file. */
export function isPostgres(database: DatabaseSetting): boolean {
  return /^postgres(ql)?:\/\//.test(locationOf(database));
}

/** The folder beside the database for files that only their owner may read. */
export function dataFolder(database: DatabaseSetting): string {
  return isPostgres(database) ? ".turnpike" : dirname(locationOf(database));
}

/** Host, port and name of a database, and nothing else of its URL. */
export function serverOf(url: string): string {
  if (!URL.canParse(url)) return "the address in the configuration";
  const { hostname, port, pathname } = new URL(url);
  return `${hostname || "localhost"}:${port || "5432"}${pathname}`;
}

/** The file that holds the operator's token. */
export function adminTokenFile(database: DatabaseSetting): string {
  return join(dataFolder(database), "admin-token");
}

/**
 * Makes a folder and its parents, readable by their owner alone. Node's recursive `mkdir` never ends where the system refuses
 * every new folder, as below `/proc`.
 */
export function makeFolder(path: string): void {
  if (existsSync(path)) return;
  const parent = dirname(path);
  if (parent !== path) makeFolder(parent);
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    // Another process made it at this instant.
    if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
  }
}

/** Writes a file that only its owner can read, also when the file was there before with other permissions. */
export function writePrivateFile(file: string, text: string): void {
  makeFolder(dirname(file));
  writeFileSync(file, "", { mode: 0o600 });
  chmodSync(file, 0o600);
  writeFileSync(file, text);
}
