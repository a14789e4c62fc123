/** A full or broken disk, a file that another process has, memory that ran out. */
const sqliteCode =
  /^(DATABASE_FILE_LOST$|SQLITE_(BUSY|LOCKED|IOERR|FULL|CANTOPEN|READONLY|NOMEM|PROTOCOL|INTERRUPT|CORRUPT|NOTADB))/;

/**
 * The classes of PostgreSQL's errors that are not about the statement: no connection (08), no login (28), no such
 * database (3D), out of resources (53), stopped by the operator or by a timeout (57), broken system (58); and a server
 * that became a replica, a transaction that was ended because it waited or took too long (25P03, 25P04), a conflict between
 * transactions, a lock that was not free in time, damaged data.
 */
const postgresCode = /^((08|28|3D|53|57|58)[0-9A-Z]{3}|25006|25P0[34]|40001|40P01|55P03|XX00[12])$/;

const socketCode =
  /^(ECONN(REFUSED|RESET|ABORTED)|EPIPE|ETIMEDOUT|EHOST(UNREACH|DOWN)|ENET(UNREACH|DOWN)|ENOTFOUND|EAI_AGAIN|EMFILE|ENFILE)$/;

/**
 * Messages of the drivers that have no code, and one that hides the code: when the disk is full or broken, SQLite rolls a
 * transaction back by itself, and the rollback that follows fails because there is none.
 */
const driverWords =
  /^(cannot rollback - no transaction is active|Connection terminated|timeout e(xceeded|xpired)|Query read timeout|Client (has encountered a connection error|was closed)|Cannot use a pool|driver has already been destroyed|The database connection is not open|database is not open)/;

/** What a host says of an outage to anyone who asks, by the code of the error. It names no place and no setting. */
const reasons: readonly (readonly [RegExp, string])[] = [
  [
    /^DATABASE_FILE_LOST$/,
    "The file of the database was removed, replaced or cut short, or another host has opened it. Nothing is written to it.",
  ],
  [/^(SQLITE_FULL|53100)$/, "The disk of the database is full."],
  [/^(SQLITE_IOERR|58030)/, "The disk of the database does not work."],
  [/^(SQLITE_(CORRUPT|NOTADB)|XX00[12])/, "The database is damaged."],
  [/^(SQLITE_READONLY|25006)/, "The database can only be read."],
  [/^53300$/, "The database has no connection left for this host."],
];

/** Why the database cannot be used, as a sentence for anyone. */
export function outageReason(error: unknown): string {
  for (let at = error; at instanceof Error; at = at.cause) {
    const { code } = at as { code?: unknown };
    const known = typeof code === "string" ? reasons.find(([pattern]) => pattern.test(code)) : undefined;
    if (known !== undefined) return known[1];
  }
  return "The database does not take writes right now.";
}

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
