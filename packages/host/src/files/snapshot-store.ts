import { randomUUID } from "node:crypto";
import type { Database } from "../database/database.ts";
import { captureFiles } from "./capture-files.ts";
import { ownerColumns, type FileOwner } from "./file-owner.ts";
import { holdFiles, type HeldFiles } from "./held-files.ts";
import type { FileLimits } from "./limits.ts";
import { pathSegments, pathText } from "./path-text.ts";
import { attemptWithin, type Attempt, type Reach } from "./reach.ts";
import { noSnapshot, tooMany } from "./refusals.ts";
import { restoreFiles, type Restored } from "./restore-files.ts";

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

export function createSnapshotStore(database: Database, limits: FileLimits): SnapshotStore {
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
    const known = await countSnapshots(held);
    if (known >= limits.snapshots) throw tooMany("snapshots", limits.snapshots);
    const attempt = await captureFiles(held, id, path, covered);
    if (attempt.kind === "unknown") return attempt;
    const said = { path: pathText(path), label: label === undefined ? null : JSON.stringify(label) };
    await held.transaction
      .insertInto("snapshots")
      // None is ever deleted: their number counts them in their order.
      .values({ ...held.mine, id, sequence: known + 1, ...said, created_at: createdAt })
      .execute();
    return attempt;
  };

  return {
    list,
    async create(of, path, label, reach) {
      const createdAt = new Date().toISOString();
      const snapshot: Snapshot = { id: randomUUID(), path, ...(label !== undefined && { label }), createdAt };
      const files = await attemptWithin(reach, (covered) =>
        holdFiles(database, of, (held) => keep(held, snapshot, covered)),
      );
      return { ...snapshot, files };
    },
    async restore(of, path, id, reach) {
      const snapshot = (await list(of)).find((each) => each.id === id);
      if (snapshot === undefined || pathText(snapshot.path) !== pathText(path)) throw noSnapshot();
      return attemptWithin(reach, (covered) =>
        holdFiles(database, of, (held) => restoreFiles(held, id, path, { covered, limits, signal: reach.signal })),
      );
    },
  };
}

async function countSnapshots({ transaction, mine }: HeldFiles): Promise<number> {
  const { count } = await transaction
    .selectFrom("snapshots")
    .select(({ fn }) => fn.countAll<number>().as("count"))
    .where((row) => row.and(mine))
    .executeTakeFirstOrThrow();
  return count;
}
