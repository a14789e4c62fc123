import {
  Kysely,
  PostgresAdapter,
  PostgresIntrospector,
  PostgresQueryCompiler,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
  type CompiledQuery,
  type ControlledTransaction,
  type DatabaseConnection,
  type Dialect,
  type Driver,
} from "kysely";
import type { Database } from "../src/storage/database.ts";
import { UnansweredCommitError, type RunSteps, type StepResult } from "../src/storage/steps.ts";
import type { Schema } from "../src/storage/schema.ts";

/** Sees every statement, `begin`, `commit` and `rollback` included. What it throws is the statement's failure. */
interface Watch {
  before?(statement: string): void;
  after?(statement: string): void;
  /** What the answer waits for after the statement took effect. */
  late?(): Promise<void> | undefined;
}

/** The same database, with every statement shown to a watch first and afterwards. */
export function watched(database: Database, watch: Watch): Database {
  const isPostgres = database.kind === "postgres";
  const dialect: Dialect = {
    createAdapter: () => (isPostgres ? new PostgresAdapter() : new SqliteAdapter()),
    createQueryCompiler: () => (isPostgres ? new PostgresQueryCompiler() : new SqliteQueryCompiler()),
    createIntrospector: (db) => (isPostgres ? new PostgresIntrospector(db) : new SqliteIntrospector(db)),
    createDriver: () => watchedDriver(database.db, watch),
  };
  const db = new Kysely<Schema>({ dialect });
  return {
    ...database,
    strand: database.strand,
    db,
    reporting: db,
    read: (sql, parameters) => show(watch, sql, () => database.read(sql, parameters)),
    async transact(work) {
      let answered: Promise<void> | undefined;
      const result = await database.transact((send) => work(watchedRun(send, watch, (late) => (answered = late))));
      await answered;
      return result;
    },
  };
}

/** Sends one statement at a time, so that each can fail by itself. The answer to a commit may be late when it is over. */
function watchedRun(send: RunSteps, watch: Watch, onCommit: (late: Promise<void> | undefined) => void): RunSteps {
  return async (steps, end) => {
    const results: StepResult[] = [];
    for (const step of steps) {
      const isEmpty = step.rows.length === 0;
      if (!isEmpty) watch.before?.(step.sql);
      try {
        results.push(...(await send([step])));
      } catch (error) {
        // Its answer counts like any other, and can be lost like any other.
        watch.after?.(step.sql);
        throw error;
      }
      if (!isEmpty) watch.after?.(step.sql);
      if (!isEmpty) await watch.late?.();
    }
    if (end === undefined) return results;
    watch.before?.(end);
    await send([], end);
    try {
      watch.after?.(end);
    } catch (error) {
      throw unanswered(error);
    }
    onCommit(watch.late?.()?.catch((error: unknown) => Promise.reject(unanswered(error))));
    return results;
  };
}

function unanswered(cause: unknown): UnansweredCommitError {
  return Object.assign(new UnansweredCommitError(cause), { message: (cause as Error).message });
}

/** The same database, and the statements that ran on it. */
export function recordStatements(database: Database): { database: Database; statements: string[] } {
  const statements: string[] = [];
  return { database: watched(database, { before: (statement) => void statements.push(statement) }), statements };
}

/**
 * A database whose n-th statement fails, counted from 1, of those that begin like `of`; with `isOver` those behind it fail too, until
 * it says so. `when` says whether it still took effect; with `code` the error has the code of a driver.
 */
export function failingAt(
  database: Database,
  n: number,
  when: "before" | "after",
  { of = "", code, isOver }: { of?: string; code?: string; isOver?: () => boolean } = {},
): Database {
  let count = 0;
  return watched(database, {
    [when]: (statement: string) => {
      if (!statement.startsWith(of)) return;
      count += 1;
      if (count === n || (count > n && isOver?.() === false))
        throw Object.assign(new Error(`injected: ${statement}`), { code });
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

async function show<T>(watch: Watch, statement: string, run: () => Promise<T>): Promise<T> {
  watch.before?.(statement);
  const result = await run();
  watch.after?.(statement);
  await watch.late?.();
  return result;
}

function watchedDriver(db: Kysely<Schema>, watch: Watch): Driver {
  const transactions = new WeakMap<DatabaseConnection, ControlledTransaction<Schema>>();
  const connect = (): DatabaseConnection => {
    const self: DatabaseConnection = {
      executeQuery: <Row>(query: CompiledQuery) =>
        show(watch, query.sql, () =>
          (transactions.get(self) ?? db).getExecutor().executeQuery<Row>(query as CompiledQuery<Row>),
        ),
      streamQuery() {
        throw new Error("Streams are not watched.");
      },
    };
    return self;
  };
  return {
    init: () => Promise.resolve(),
    acquireConnection: () => Promise.resolve(connect()),
    beginTransaction: (connection) =>
      show(watch, "begin", async () => void transactions.set(connection, await db.startTransaction().execute())),
    commitTransaction: (connection) =>
      show(watch, "commit", async () => transactions.get(connection)?.commit().execute()),
    rollbackTransaction: (connection) =>
      show(watch, "rollback", async () => {
        const transaction = transactions.get(connection);
        // One whose answer to the commit was lost is over.
        if (transaction?.isCommitted === false) await transaction.rollback().execute();
      }),
    async releaseConnection(connection) {
      const transaction = transactions.get(connection);
      if (transaction?.isCommitted === false && !transaction.isRolledBack) await transaction.rollback().execute();
    },
    destroy: () => Promise.resolve(),
  };
}
