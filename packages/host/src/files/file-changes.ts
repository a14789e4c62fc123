import { readContent } from "./contents.ts";
import type { FileOwner } from "./file-owner.ts";
import { countFiles, findRow, putFile, removeFile, type FileRow, type FileStat } from "./file-rows.ts";
import type { HeldFiles, HoldFiles } from "./held-files.ts";
import type { FileLimits } from "./limits.ts";
import { contentTooLarge, fileExists, noFile, otherVersion, tooMany } from "./file-errors.ts";

/** Changes of one file. One that is refused throws a `ToolError`, and has changed nothing; an aborted one may have. */
export interface FileChanges {
  create(of: FileOwner, path: readonly string[], content: string, signal?: AbortSignal): Promise<FileStat>;
  replace(
    of: FileOwner,
    path: readonly string[],
    content: string,
    expectedVersion?: number,
    signal?: AbortSignal,
  ): Promise<FileStat>;
  append(
    of: FileOwner,
    path: readonly string[],
    content: string,
    expectedVersion?: number,
    signal?: AbortSignal,
  ): Promise<FileStat>;
  /** Deletes a file and returns the version that its tombstone has. */
  delete(of: FileOwner, path: readonly string[], expectedVersion?: number, signal?: AbortSignal): Promise<number>;
  /** Creates the file or replaces it: for a host that fills its own shelves. */
  write(of: FileOwner, path: readonly string[], content: string): Promise<FileStat>;
}

/** What is at a path, or was, and the content that is to be there next. Throws to refuse. */
type NextContent = (before: FileRow | undefined, held: HeldFiles) => string | Promise<string>;

export function createFileChanges(hold: HoldFiles, limits: FileLimits): FileChanges {
  const change = <T>(
    of: FileOwner,
    path: readonly string[],
    signal: AbortSignal | undefined,
    make: (before: FileRow | undefined, held: HeldFiles) => Promise<T>,
  ): Promise<T> => hold(of, async (held) => make(await findRow(held.transaction, held.mine, path), held), signal);

  const put = (
    of: FileOwner,
    path: readonly string[],
    signal: AbortSignal | undefined,
    next: NextContent,
  ): Promise<FileStat> =>
    change(of, path, signal, async (before, held) => {
      const content = await next(before, held);
      const bytes = Buffer.byteLength(content);
      if (bytes > limits.fileBytes) throw contentTooLarge(bytes, limits.fileBytes);
      if (!isThere(before) && (await countFiles(held)) >= limits.files) throw tooMany("files", limits.files);
      return putFile(held, path, content, before);
    });

  return {
    create: (of, path, content, signal) =>
      put(of, path, signal, (before) => {
        if (isThere(before)) throw fileExists();
        return content;
      }),
    replace: (of, path, content, expectedVersion, signal) =>
      put(of, path, signal, (before) => {
        expectFile(before, expectedVersion);
        return content;
      }),
    append: (of, path, content, expectedVersion, signal) =>
      put(of, path, signal, async (before, held) => {
        const { digest } = expectFile(before, expectedVersion);
        return (await readContent(held, digest)) + content;
      }),
    delete: (of, path, expectedVersion, signal) =>
      change(of, path, signal, async (before, held) => removeFile(held, expectFile(before, expectedVersion))),
    write: (of, path, content) => put(of, path, undefined, () => content),
  };
}

function isThere(row: FileRow | undefined): row is FileRow & { digest: string } {
  return row !== undefined && row.digest !== null;
}

/** The file that has to be there, in the version that is expected, if one is. */
function expectFile(row: FileRow | undefined, version: number | undefined): FileRow & { digest: string } {
  if (!isThere(row)) throw noFile();
  if (version !== undefined && version !== row.version) throw otherVersion(row.version, version);
  return row;
}
