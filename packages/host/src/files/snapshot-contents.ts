import { breathe } from "./breathe.ts";
import { keptBytes, readContent } from "./contents.ts";
import { isOwn } from "./file-owner.ts";
import { countFiles, fileColumns, putFile, removeFile, type FileRow } from "./file-rows.ts";
import type { HeldFiles } from "./held-files.ts";
import type { FileLimits } from "./limits.ts";
import { isWithin, pathSegments } from "./file-columns.ts";
import { unknownOf, type Attempt } from "./reach.ts";
import { tooMany, tooMuchAtOnce } from "./file-errors.ts";

/** How many files a restore changed. */
export interface Restored {
  written: number;
  deleted: number;
}

/** A file that is there, or was in the snapshot, with what the snapshot has of it. */
interface Comparison extends FileRow {
  /** Null when the file was not there. */
  capture: number | null;
  /** Null when the file was not there, or not covered. */
  captured: string | null;
  /** The bytes of what was captured. */
  bytes: number;
}

/** How many files are changed before everybody else gets a chance to run. */
const atOnce = 5;

/** Makes every covered file at and below a folder what it was in the snapshot, and touches none that is so already. */
export async function restoreFiles(
  held: HeldFiles,
  snapshot: string,
  folder: readonly string[],
  { covered, limits, signal }: { covered: ReadonlyMap<string, boolean>; limits: FileLimits; signal: AbortSignal },
): Promise<Attempt<Restored>> {
  const rows = await compare(held, snapshot, folder);
  const toWrite = rows.filter(({ digest, captured }) => captured !== null && captured !== digest);
  const toDelete = rows.filter(({ digest, capture }) => capture === null && digest !== null);
  const unknown = unknownOf([...toWrite, ...toDelete], covered);
  if (unknown.length > 0) return { kind: "unknown", paths: unknown };

  const isCovered = ({ path }: FileRow): boolean => covered.get(path) === true;
  const [written, deleted] = [toWrite.filter(isCovered), toDelete.filter(isCovered)];
  const created = written.filter(({ digest }) => digest === null);
  const count = (await countFiles(held)) + created.length - deleted.length;
  if (created.length > 0 && count > limits.files) throw tooMany("files", limits.files);

  const bytes = written.reduce((sum, row) => sum + row.bytes, 0);
  if (bytes > limits.restoredBytes) throw tooMuchAtOnce("restore", bytes, limits.restoredBytes);

  for (const [place, row] of [...deleted, ...written].entries()) {
    if (place % atOnce === 0) await breathe(signal);
    if (row.captured === null) await removeFile(held, row);
    else await putFile(held, pathSegments(row.path), await readContent(held, row.captured), row);
  }
  return { kind: "done", result: { written: written.length, deleted: deleted.length } };
}

function compare({ transaction, mine }: HeldFiles, snapshot: string, folder: readonly string[]): Promise<Comparison[]> {
  return transaction
    .selectFrom("files")
    .leftJoin("captures", (join) =>
      join
        .onRef("captures.namespace_id", "=", "files.namespace_id")
        .onRef("captures.owner", "=", "files.owner")
        .onRef("captures.file", "=", "files.id")
        .on("captures.snapshot", "=", snapshot),
    )
    .leftJoin("contents", (join) =>
      join
        .onRef("contents.namespace_id", "=", "captures.namespace_id")
        .onRef("contents.owner", "=", "captures.owner")
        .onRef("contents.digest", "=", "captures.digest"),
    )
    .select([...fileColumns, "captures.file as capture", "captures.digest as captured", keptBytes.as("bytes")])
    .where(isOwn(mine))
    .where(isWithin(folder))
    .where(({ or, eb }) => or([eb("files.digest", "is not", null), eb("captures.digest", "is not", null)]))
    .execute();
}
