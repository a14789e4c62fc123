import { randomUUID } from "node:crypto";
import { sql } from "kysely";
import type { Database } from "../storage/index.ts";
import { ownerColumns, type FileOwner, pathSegments, pathText } from "./file-columns.ts";
import type { ChangeFiles, LockedFiles } from "./change-files.ts";
import type { FileLimits } from "./limits.ts";
import {
  attemptWithin,
  captureFiles,
  type Attempt,
  type PathCoverage,
  restoreFiles,
  type Restored,
} from "./snapshot-contents.ts";
import { nothingToSnapshot, noSnapshot, tooMany } from "./file-errors.ts";

/** The files at and below a path as they were at one instant. A snapshot never changes. */
export interface Snapshot {
  id: string;
  path: readonly string[];
  label?: string;
  createdAt: string;
}

/** Snapshots of every owner of every tenant. */
export interface SnapshotStore {
  /** Captures the files at and below a path, and says how many they are. */
  create(
    of: FileOwner,
    path: readonly string[],
    label: string | undefined,
    coverage: PathCoverage,
  ): Promise<Snapshot & { files: number }>;
  /** Every snapshot of the owner, the newest first. */
  list(of: FileOwner): Promise<Snapshot[]>;
  /** Makes the files at and below a snapshot's own path what they were: all of it, or nothing. */
  restore(of: FileOwner, path: readonly string[], id: string, coverage: PathCoverage): Promise<Restored>;
}

export function createSnapshotStore(database: Database, changeFiles: ChangeFiles, limits: FileLimits): SnapshotStore {
  const list: SnapshotStore["list"] = async (of) => {
    const rows = await database.db
      .selectFrom("snapshots")
      .selectAll()
      .where((row) => row.and(ownerColumns(of)))
      .orderBy("sequence", "desc")
      .execute();
    return rows.map(({ id, path, label, created_at: createdAt }) => ({
      id,
      path: pathSegments(path),
      ...(label !== null && { label: JSON.parse(label) as string }),
      createdAt,
    }));
  };

  const store = async (
    locked: LockedFiles,
    { id, path, label, createdAt }: Snapshot,
    covered: ReadonlyMap<string, boolean>,
  ): Promise<Attempt<number>> => {
    const { all, ofPath, last } = await countSnapshots(locked, path);
    if (ofPath >= limits.snapshots) throw tooMany("snapshots of a path", limits.snapshots);
    if (all >= limits.ownerSnapshots) throw tooMany("snapshots", limits.ownerSnapshots);
    const attempt = await captureFiles(locked, id, path, { covered, limits });
    if (attempt.kind === "unknown") return attempt;
    if (attempt.result === 0) throw nothingToSnapshot();
    const columns = { path: pathText(path), label: label === undefined ? null : JSON.stringify(label) };
    await locked.transaction
      .insertInto("snapshots")
      .values({ ...locked.mine, id, sequence: last + 1, ...columns, created_at: createdAt })
      .execute();
    return attempt;
  };

  return {
    list,
    async create(of, path, label, coverage) {
      const createdAt = new Date().toISOString();
      const snapshot: Snapshot = { id: randomUUID(), path, ...(label !== undefined && { label }), createdAt };
      const files = await attemptWithin(coverage, (covered) =>
        changeFiles.many(of, (locked) => store(locked, snapshot, covered), coverage.signal),
      );
      return { ...snapshot, files };
    },
    async restore(of, path, id, coverage) {
      const snapshot = (await list(of)).find((each) => each.id === id);
      if (snapshot === undefined || pathText(snapshot.path) !== pathText(path)) throw noSnapshot();
      return attemptWithin(coverage, (covered) =>
        changeFiles.many(
          of,
          (locked) => restoreFiles(locked, database.kind, id, path, { covered, limits, signal: coverage.signal }),
          coverage.signal,
        ),
      );
    },
  };
}

/** How many snapshots the owner has, how many of them are of this path, and the highest sequence number. */
function countSnapshots(
  { transaction, mine }: LockedFiles,
  path: readonly string[],
): Promise<{ all: number; ofPath: number; last: number }> {
  return transaction
    .selectFrom("snapshots")
    .select(({ fn }) => [
      fn.countAll<number>().as("all"),
      fn.countAll<number>().filterWhere("path", "=", pathText(path)).as("ofPath"),
      fn.coalesce(fn.max<number>("sequence"), sql.lit(0)).as("last"),
    ])
    .where((row) => row.and(mine))
    .executeTakeFirstOrThrow();
}
