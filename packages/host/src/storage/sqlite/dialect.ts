import {
  type CompiledQuery,
  SqliteAdapter,
  SqliteIntrospector,
  SqliteQueryCompiler,
  type DatabaseConnection,
  type Dialect,
  type Driver,
  type QueryResult,
} from "kysely";
import type { Mutex } from "./mutex.ts";
import type { Connection, Thread } from "./thread.ts";

/** The threads of a database: one that writes, and one for reads that need not wait for the disk. */
export interface Threads {
  writer: Thread;
  reader: Thread;
  /** Held while a transaction is open on the writer. */
  writing: Mutex;
}

/** Kysely on threads: transactions and writes go to the writer, one after the other; other reads to the reader. */
export function threadDialect(threads: Threads): Dialect {
  return {
    createAdapter: () => new SqliteAdapter(),
    createQueryCompiler: () => new SqliteQueryCompiler(),
    createIntrospector: (db) => new SqliteIntrospector(db),
    createDriver: () => createDriver(threads),
  };
}

function createDriver({ writer, reader, writing }: Threads): Driver {
  /** The transactions that are open, by Kysely's connection. */
  const open = new WeakMap<DatabaseConnection, { connection: Connection; release(): void }>();
  const connect = (): DatabaseConnection => {
    const self: DatabaseConnection = {
      async executeQuery<Row>(query: CompiledQuery): Promise<QueryResult<Row>> {
        const transaction = open.get(self);
        if (transaction !== undefined) return execute<Row>(transaction.connection, query);
        // On one connection for both, a read would see what a transaction has not committed yet.
        if (isRead(query) && reader !== writer) return execute<Row>(reader.connect(), query);
        const release = await writing.acquire();
        try {
          return await execute<Row>(writer.connect(), query);
        } finally {
          release();
        }
      },
      streamQuery() {
        throw new Error("Queries are not streamed here: read a page at a time.");
      },
    };
    return self;
  };
  const end = async (of: DatabaseConnection, sql: "commit" | "rollback"): Promise<void> =>
    void (await open.get(of)?.connection.run([{ sql, rows: [[]] }]));
  return {
    async init() {},
    acquireConnection: () => Promise.resolve(connect()),
    async beginTransaction(of) {
      const release = await writing.acquire();
      try {
        const connection = writer.connect();
        await connection.run([{ sql: "begin immediate", rows: [[]] }]);
        open.set(of, { connection, release });
      } catch (error) {
        release();
        throw error;
      }
    },
    commitTransaction: (of) => end(of, "commit"),
    rollbackTransaction: (of) => end(of, "rollback"),
    releaseConnection(of) {
      open.get(of)?.release();
      open.delete(of);
      return Promise.resolve();
    },
    async destroy() {
      await reader.close();
      await writer.close();
    },
  };
}

/** Whether a query only reads, also one that is written by hand. When in doubt it goes to the writer, which can do both. */
function isRead({ query, sql }: CompiledQuery): boolean {
  return query.kind === "SelectQueryNode" || /^\s*select\b/i.test(sql);
}

async function execute<Row>(connection: Connection, { sql, parameters }: CompiledQuery): Promise<QueryResult<Row>> {
  const [result] = await connection.run([{ sql, rows: [parameters] }]);
  const { rows = [], changes = [] } = result ?? {};
  return { rows: rows as Row[], numAffectedRows: BigInt(changes[0] ?? 0) };
}
