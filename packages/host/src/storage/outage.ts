/** A full or broken disk, a file that somebody else has, memory that ran out. */
const sqliteCode = /^SQLITE_(BUSY|LOCKED|IOERR|FULL|CANTOPEN|READONLY|NOMEM|PROTOCOL|INTERRUPT|CORRUPT|NOTADB)/;

/**
 * The classes of PostgreSQL's errors that are not about the statement: no connection (08), no login (28), no such
 * database (3D), out of resources (53), stopped by the operator or by a timeout (57), broken system (58); and a server
 * that became a replica, a conflict between transactions, a lock that was not free in time, damaged data.
 */
const postgresCode = /^((08|28|3D|53|57|58)[0-9A-Z]{3}|25006|40001|40P01|55P03|XX00[12])$/;

const socketCode =
  /^(ECONN(REFUSED|RESET|ABORTED)|EPIPE|ETIMEDOUT|EHOST(UNREACH|DOWN)|ENET(UNREACH|DOWN)|ENOTFOUND|EAI_AGAIN|EMFILE|ENFILE)$/;

/**
 * What the drivers say without a code; and what hides the code: SQLite undoes a transaction by itself when the disk is
 * full or broken, and then there is none to roll back.
 */
const driverWords =
  /^(cannot rollback - no transaction is active|Connection terminated|timeout e(xceeded|xpired)|Query read timeout|Client (has encountered a connection error|was closed)|Cannot use a pool|driver has already been destroyed|The database connection is not open|database is not open)/;

/**
 * Whether an error, or what caused it, says that the database cannot be used right now: the same request may succeed
 * later. Anything else that a store throws is a bug. INVARIANT: this is the one place that tells the two apart.
 */
export function isOutage(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code } = error as { code?: unknown };
  if (typeof code === "string" && [sqliteCode, postgresCode, socketCode].some((known) => known.test(code))) return true;
  return driverWords.test(error.message) || isOutage(error.cause);
}
