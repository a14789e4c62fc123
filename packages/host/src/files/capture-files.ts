import { breathe } from "./breathe.ts";
import { keptBytes } from "./contents.ts";
import { isOwn } from "./file-owner.ts";
import { fileColumns } from "./file-rows.ts";
import type { HeldFiles } from "./held-files.ts";
import type { FileLimits } from "./limits.ts";
import { isWithin } from "./file-columns.ts";
import { unknownOf, type Attempt } from "./reach.ts";
import { tooMuchAtOnce } from "./file-errors.ts";

/** How many rows are written at once. */
const batch = 500;

/**
 * Captures the files at and below a folder that are covered, and returns how many they are. Of the others it keeps that
 * they were there, so that a restore does not take them for new.
 */
export async function captureFiles(
  { transaction, mine }: HeldFiles,
  snapshot: string,
  folder: readonly string[],
  { covered, limits }: { covered: ReadonlyMap<string, boolean>; limits: FileLimits },
): Promise<Attempt<number>> {
  const files = await transaction
    .selectFrom("files")
    .leftJoin("contents", (join) =>
      join
        .onRef("contents.namespace_id", "=", "files.namespace_id")
        .onRef("contents.owner", "=", "files.owner")
        .onRef("contents.digest", "=", "files.digest"),
    )
    .select([...fileColumns, keptBytes.as("bytes")])
    .where(isOwn(mine))
    .where("files.digest", "is not", null)
    .where(isWithin(folder))
    .execute();
  const unknown = unknownOf(files, covered);
  if (unknown.length > 0) return { kind: "unknown", paths: unknown };

  const bytes = files.reduce((sum, file) => sum + (covered.get(file.path) === true ? file.bytes : 0), 0);
  if (bytes > limits.restoredBytes) throw tooMuchAtOnce("keep", bytes, limits.restoredBytes);

  const captures = files.map(({ id, path, digest }) => {
    return { ...mine, snapshot, file: id, digest: covered.get(path) === true ? digest : null };
  });
  for (let start = 0; start < captures.length; start += batch) {
    await breathe();
    await transaction
      .insertInto("captures")
      .values(captures.slice(start, start + batch))
      .execute();
  }
  return { kind: "done", result: captures.filter(({ digest }) => digest !== null).length };
}
