/** Whether a database is a PostgreSQL by URL; anything else is the path of an SQLite file. */
export function isPostgres(location: string): boolean {
  return /^postgres(ql)?:\/\//.test(location);
}
