import { chmodSync, existsSync, mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";

/** Whether a database location is the URL of a PostgreSQL. Any other location is the path of an SQLite file. */
export function isPostgres(location: string): boolean {
  return /^postgres(ql)?:\/\//.test(location);
}

/** The folder beside the database where the host keeps files that only its owner may read. */
export function dataFolder(location: string): string {
  return isPostgres(location) ? ".turnpike" : dirname(location);
}

/** The file that holds the operator's token. */
export function adminTokenFile(database: string): string {
  return join(dataFolder(database), "admin-token");
}

/**
 * Makes a folder, and those that it is in, for their owner's eyes alone. Node's own way of making several never ends where the
 * system lets nobody make one, as below `/proc`.
 */
export function makeFolder(path: string): void {
  if (existsSync(path)) return;
  const parent = dirname(path);
  if (parent !== path) makeFolder(parent);
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    // Somebody made it in this moment.
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
