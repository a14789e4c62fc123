import {
  CompiledQuery,
  Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
  type DatabaseConnection,
  type Dialect,
  type Driver,
} from "kysely";
import type { Database } from "../src/storage/database.ts";
import type { Schema } from "../src/storage/schema.ts";

/** Looks at every statement, `begin`, `commit` and `rollback` included. What it throws is the statement's failure. */
interface Watch {
  before?(statement: string): void;
  after?(statement: string): void;
  /** What the answer waits for after the statement took effect; its connection is free for others meanwhile. */
  late?(): Promise<void> | undefined;
}

/** The same database, with every statement shown to a watch first and afterwards. */
function watched(database: Database, watch: Watch): Database {
  const isPostgres = database.kind === "postgres";
  const dialect: Dialect = {
    createAdapter: () => (isPostgres ? new PostgresAdapter() : new SqliteAdapter()),
    createQueryCompiler: () => (isPostgres ? new PostgresQueryCompiler() : new SqliteQueryCompiler()),
    createIntrospector: (db) => (isPostgres ? new PostgresIntrospector(db) : new SqliteIntrospector(db)),
    createDriver: () => watchedDriver(database.db, watch),
  };
  return { ...database, db: new Kysely<Schema>({ dialect }) };
}

/** The same database, and the statements that ran on it. */
export function recordStatements(database: Database): { database: Database; statements: string[] } {
  const statements: string[] = [];
  return { database: watched(database, { before: (statement) => void statements.push(statement) }), statements };
}

/** A database whose n-th statement fails, counted from 1. `when` says whether it still took effect. */
export function failingAt(database: Database, n: number, when: "before" | "after"): Database {
  let count = 0;
  return watched(database, {
    [when]: (statement: string) => {
      count += 1;
      if (count === n) throw new Error(`injected: ${statement}`);
    },
  });
}

/** A database whose n-th statement, counted from 1, takes effect, and is answered when the test says so. */
export function answeringLate(
  database: Database,
  n: number,
): { database: Database; tookEffect: Promise<void>; answer(): void; lose(): void } {
  let count = 0;
  let [answer, lose, reach] = [() => {}, () => {}, () => {}];
  const tookEffect = new Promise<void>((resolve) => (reach = resolve));
  const answered = new Promise<void>((resolve, reject) => {
    answer = resolve;
    lose = () => reject(new Error("injected: the answer is lost"));
  });
  const late = (): Promise<void> | undefined => {
    count += 1;
    if (count !== n) return undefined;
    reach();
    return answered;
  };
  return { database: watched(database, { late }), tookEffect, answer, lose };
}

function watchedDriver(db: Kysely<Schema>, watch: Watch): Driver {
  const releases = new Map<DatabaseConnection, () => void>();
  return {
    init: () => Promise.resolve(),
    acquireConnection: () =>
      new Promise((resolve, reject) => {
        db.getExecutor()
          .provideConnection(
            (real) =>
              new Promise<void>((release) => {
                const connection = watchedConnection(real, watch, release);
                releases.set(connection, release);
                resolve(connection);
              }),
          )
          .catch(reject);
      }),
    beginTransaction: (connection) => run(connection, "begin"),
    commitTransaction: (connection) => run(connection, "commit"),
    rollbackTransaction: (connection) => run(connection, "rollback"),
    releaseConnection(connection) {
      releases.get(connection)?.();
      releases.delete(connection);
      return Promise.resolve();
    },
    destroy: () => Promise.resolve(),
  };
}

async function run(connection: DatabaseConnection, statement: string): Promise<void> {
  await connection.executeQuery(CompiledQuery.raw(statement));
}

function watchedConnection(connection: DatabaseConnection, watch: Watch, release: () => void): DatabaseConnection {
  return {
    async executeQuery<Row>(query: CompiledQuery) {
      watch.before?.(query.sql);
      const result = await connection.executeQuery<Row>(query);
      watch.after?.(query.sql);
      const late = watch.late?.();
      if (late !== undefined) {
        release();
        await late;
      }
      return result;
    },
    streamQuery: (query, chunkSize) => connection.streamQuery(query, chunkSize),
  };
}
