import type { Kysely } from "kysely";
import type { Schema } from "./schema.ts";
import type { History } from "./history/history.ts";
import type { DatabaseCopy } from "./sqlite/copy.ts";
import type { RunSteps } from "./steps.ts";

/** A migrated database, and the identity of this host in it. */
export interface Database {
  readonly kind: "sqlite" | "postgres";
  readonly db: Kysely<Schema>;
  /** For operators' reads, which may take long. Neither calls nor writes wait for them. */
  readonly reporting: Kysely<Schema>;
  /** Runs a reading statement that is prepared once, for what calls read. Parameters are `$1`, `$2` on both databases. */
  read<Row>(sql: string, parameters: readonly unknown[]): Promise<Row[]>;
  /**
   * One transaction of statements that are prepared once, for what every call writes. It begins with the first steps, and is
   * rolled back when the work throws before the commit.
   */
  transact<T>(work: (run: RunSteps) => Promise<T>): Promise<T>;
  /**
   * Copies everything that was acknowledged before, while the host runs on. Throws `NoRoomError`. Undefined for PostgreSQL, which
   * has tools of its own for that.
   */
  readonly copy: (() => Promise<DatabaseCopy>) | undefined;
  /** The id under which this process runs on the database; new at every start. */
  readonly hostId: number;
  /** Which chain of each tenant's audit log this host writes. No two running hosts write the same one. */
  readonly strand: number;
  /** False once the host with this id is dead: it ended, it has not beaten for too long, or it has lost its lock. */
  isAlive(hostId: number): Promise<boolean>;
  /** False once other hosts may hold this one for dead. True where there is no other. */
  isPresent(): boolean;
  /** Whether a newer version changed the database so that this host may not serve it. While that is so, it only finishes what is under way. */
  isTooOld(): boolean;
  /** Says to hosts of newer versions whether this one has anything under way. */
  showDrained(isDrained: () => boolean): void;
  /** Calls the listener when other hosts can see this one again, after they may have held it for dead. */
  onReturn(listener: () => void): void;
  /** What this process knows to be durable here, and whether the database has lost some of it. */
  readonly history: History;
  /** True when other processes may write to the same database at the same time. */
  readonly isShared: boolean;
  close(): Promise<void>;
}
