import { dirname, join } from "node:path";

/** Whether a database is a PostgreSQL by URL; anything else is the path of an SQLite file. */
export function isPostgres(location: string): boolean {
  return /^postgres(ql)?:\/\//.test(location);
}

/** The folder beside the database where the host keeps what only its owner may read. */
export function dataFolder(location: string): string {
  return isPostgres(location) ? ".turnpike" : dirname(location);
}

/** Where the operator's token is kept. */
export function adminTokenFile(database: string): string {
  return join(dataFolder(database), "admin-token");
}
