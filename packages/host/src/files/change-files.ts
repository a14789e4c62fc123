import type { Transaction } from "kysely";
import { createKeyedSemaphore, createSemaphore } from "../shared/index.ts";
import { stepOf, type Database, type Schema, type Step } from "../storage/index.ts";
import { ownerColumns, ownerKey, type FileOwner, type OwnerColumns } from "./file-columns.ts";
import {
  countFiles,
  lockOwner,
  selectContent,
  selectRow,
  type FileChange,
  type FileRow,
  type FileStatement,
} from "./file-rows.ts";

/** What a change of one file is decided on. */
export interface FileBefore {
  /** The file, or its tombstone. */
  row: FileRow | undefined;
  /** How many files the owner has, if the change reads it. */
  files?: number;
  /** The stored content of the file, if the change reads it and there is one. */
  content?: string;
}

/** A change of one file. It throws to refuse, and then nothing has changed. */
export interface OneFile<T> {
  path: readonly string[];
  /** What is read besides the row of the file. */
  reads?: "files" | "content" | undefined;
  decide(before: FileBefore, mine: OwnerColumns): FileChange<T>;
}

/** The files of one owner inside a transaction during which no other one can change them. */
export interface LockedFiles {
  transaction: Transaction<Schema>;
  mine: OwnerColumns;
}

/**
 * Changes the files of an owner. A caller who leaves while they wait for their turn has changed nothing. INVARIANT: an owner's files
 * change only in here, one change after the other. So what a change has read stays true.
 */
export interface ChangeFiles {
  one<T>(of: FileOwner, file: OneFile<T>, signal: AbortSignal | undefined): Promise<T>;
  many<T>(of: FileOwner, change: (locked: LockedFiles) => Promise<T>, signal: AbortSignal | undefined): Promise<T>;
}

/** How many owners' files change at a time. The limit leaves some connections to the rest of the host. */
const changesAtOnce = 4;

/** One change at a time for each owner, and a few for all owners together. They wait before they take a connection. */
export function createChangeFiles({ db, transact }: Pick<Database, "db" | "transact">): ChangeFiles {
  const perOwner = createKeyedSemaphore(1);
  const overall = createSemaphore(changesAtOnce);
  const inTurn = <T>(
    of: FileOwner,
    change: (mine: OwnerColumns) => Promise<T>,
    signal: AbortSignal | undefined,
  ): Promise<T> => {
    const mine = ownerColumns(of);
    return perOwner.run(ownerKey(mine), () => overall.run(() => change(mine), signal), signal);
  };
  const toStep = (statement: FileStatement): Step => stepOf(statement.compile(db));
  return {
    one: (of, { path, reads, decide }, signal) =>
      inTurn(
        of,
        (mine) =>
          transact(async (run) => {
            const read = [lockOwner(db, mine), selectRow(db, mine, path), ...furtherReads(reads, db, mine, path)];
            const [, found, further] = await run(read.map(toStep));
            const row = found?.rows[0] as unknown as FileRow | undefined;
            const { statements, result } = decide({ row, ...(further?.rows[0] as Partial<FileBefore>) }, mine);
            await run(statements.map(toStep), "commit");
            return result;
          }),
        signal,
      ),
    many: (of, change, signal) =>
      inTurn(
        of,
        (mine) =>
          db.transaction().execute(async (transaction) => {
            await lockOwner(transaction, mine).execute();
            return change({ transaction, mine });
          }),
        signal,
      ),
  };
}

function furtherReads(
  reads: OneFile<unknown>["reads"],
  ...[db, mine, path]: Parameters<typeof selectContent>
): FileStatement[] {
  switch (reads) {
    case "files":
      return [countFiles(db, mine)];
    case "content":
      return [selectContent(db, mine, path)];
    case undefined:
      return [];
  }
}
