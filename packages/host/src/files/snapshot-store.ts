import { randomUUID } from "node:crypto";
import { sql } from "kysely";
import type { Database } from "../storage/index.ts";
import { captureFiles } from "./capture-files.ts";
import { ownerColumns, type FileOwner } from "./file-owner.ts";
import type { HeldFiles, HoldFiles } from "./held-files.ts";
import type { FileLimits } from "./limits.ts";
import { pathSegments, pathText } from "./file-columns.ts";
import { attemptWithin, type Attempt, type Reach } from "./reach.ts";
import { nothingToKeep, noSnapshot, tooMany } from "./file-errors.ts";
import { restoreFiles, type Restored } from "./snapshot-contents.ts";

/** What was at and below a path at a moment. It never changes. */
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
    reach: Reach,
  ): Promise<Snapshot & { files: number }>;
  /** Every snapshot of the owner, the newest first. */
  list(of: FileOwner): Promise<Snapshot[]>;
  /** Makes the files at and below a snapshot's own path what they were: all of it, or nothing. */
  restore(of: FileOwner, path: readonly string[], id: string, reach: Reach): Promise<Restored>;
}

export function createSnapshotStore(database: Database, hold: HoldFiles, limits: FileLimits): SnapshotStore {
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

  const keep = async (
    held: HeldFiles,
    { id, path, label, createdAt }: Snapshot,
    covered: ReadonlyMap<string, boolean>,
  ): Promise<Attempt<number>> => {
    const { all, ofPath, last } = await countSnapshots(held, path);
    if (ofPath >= limits.snapshots) throw tooMany("snapshots of a path", limits.snapshots);
    if (all >= limits.ownerSnapshots) throw tooMany("snapshots", limits.ownerSnapshots);
    const attempt = await captureFiles(held, id, path, { covered, limits });
    if (attempt.kind === "unknown") return attempt;
    if (attempt.result === 0) throw nothingToKeep();
    const said = { path: pathText(path), label: label === undefined ? null : JSON.stringify(label) };
    await held.transaction
      .insertInto("snapshots")
      .values({ ...held.mine, id, sequence: last + 1, ...said, created_at: createdAt })
      .execute();
    return attempt;
  };

  return {
    list,
    async create(of, path, label, reach) {
      const createdAt = new Date().toISOString();
      const snapshot: Snapshot = { id: randomUUID(), path, ...(label !== undefined && { label }), createdAt };
      const files = await attemptWithin(reach, (covered) =>
        hold(of, (held) => keep(held, snapshot, covered), reach.signal),
      );
      return { ...snapshot, files };
    },
    async restore(of, path, id, reach) {
      const snapshot = (await list(of)).find((each) => each.id === id);
      if (snapshot === undefined || pathText(snapshot.path) !== pathText(path)) throw noSnapshot();
      return attemptWithin(reach, (covered) =>
        hold(of, (held) => restoreFiles(held, id, path, { covered, limits, signal: reach.signal }), reach.signal),
      );
    },
  };
}

/** How many snapshots there are, how many of them of a path, and where the newest stands in their order. */
function countSnapshots(
  { transaction, mine }: HeldFiles,
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
