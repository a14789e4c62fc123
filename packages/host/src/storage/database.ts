import type { Kysely } from "kysely";
import type { Schema } from "./schema.ts";
import type { DatabaseCopy } from "./sqlite/copy.ts";
import type { RunSteps } from "./steps.ts";

/** A migrated database, and what this host is to it. */
export interface Database {
  readonly kind: "sqlite" | "postgres";
  readonly db: Kysely<Schema>;
  /** For operators' reads, which may take long: they hold up neither calls nor writes. */
  readonly reports: Kysely<Schema>;
  /** One statement that reads, prepared once: for what calls read. Its parameters are written `$1`, `$2` on both databases. */
  read<Row>(sql: string, parameters: readonly unknown[]): Promise<Row[]>;
  /**
   * One transaction of statements that are prepared once: for what every call writes. It begins with the first steps and
   * is undone when the work throws before it has committed.
   */
  transact<T>(work: (run: RunSteps) => Promise<T>): Promise<T>;
  /**
   * Copies everything that was acknowledged before, while the host goes on; throws `NoRoomError`. Undefined where the database
   * has tools of its own for that.
   */
  readonly copy: (() => Promise<DatabaseCopy>) | undefined;
  /** The id under which this process runs on the database; new at every start. */
  readonly hostId: number;
  /** Which chain of each tenant's audit trail this host writes; no two hosts that run write the same. */
  readonly strand: number;
  /** Whether the process that ran under this id still does. */
  isAlive(hostId: number): Promise<boolean>;
  /** Calls the listener whenever others can see again that this host lives, after they could not for a while. */
  onReturn(listener: () => void): void;
  /** True when other processes may write to the same database at the same time. */
  readonly isShared: boolean;
  close(): Promise<void>;
}
