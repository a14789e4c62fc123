/** A statement of a driver. */
export interface DriverStatement {
  /** The columns of its rows; none for a statement that returns no rows. */
  columns(): readonly unknown[];
  all(...parameters: readonly unknown[]): Record<string, unknown>[];
  run(...parameters: readonly unknown[]): { changes: number | bigint; lastInsertRowid: number | bigint };
  setReadBigInts(isOn: boolean): void;
}

/** The calls of `node:sqlite` that the host makes, whichever driver answers them. */
export interface Driver {
  readonly isTransaction: boolean;
  exec(sql: string): void;
  prepare(sql: string): DriverStatement;
  close(): void;
}

/** Opens a file, and waits so many milliseconds for a lock on it. */
export type OpenDriver = new (path: string, options: { timeout: number }) => Driver;
