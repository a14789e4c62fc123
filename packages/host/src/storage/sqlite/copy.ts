import { randomUUID } from "node:crypto";
import { closeSync, existsSync, mkdtempSync, openSync, readdirSync, rmSync, statfsSync, statSync } from "node:fs";
import { open } from "node:fs/promises";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { Readable } from "node:stream";
import type { ReadableStream } from "node:stream/web";
import type { Connection, Thread } from "./thread.ts";

/** A whole database as it was at one instant, in a file without a name. The file is gone when it was read or the process ends. */
export interface DatabaseCopy {
  bytes: number;
  /** It has to be read or cancelled. */
  body: ReadableStream<Uint8Array>;
  /** Resolves when it was read or cancelled, and takes no more room on the disk. */
  gone: Promise<void>;
}

/** There is no room for a copy. The message is for the operator. */
export class NoRoomError extends Error {
  override readonly name = "NoRoomError";
}

/** Room that is left for calls, which write on while the copy exists. */
const reserveBytes = 67_108_864;
const mebibyte = 1_048_576;
const infix = "-copy-";
/** How the names of a host's own copies end. Another file may be an operator's backup. */
const ownEnd = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}(-journal)?$/;

/** Copies a file beside itself, through a thread of its own: neither calls nor operators' reads wait for it. */
export async function copyFile(path: string, openReader: () => Thread): Promise<DatabaseCopy> {
  requireRoom(path);
  const copier = openReader();
  try {
    return await copyInto(`${path}${infix}${randomUUID()}`, copier.connect());
  } finally {
    await copier.close();
  }
}

/** Copies a database that is in memory. Its one connection is busy for as long as that takes. */
export async function copyMemory(connection: Connection): Promise<DatabaseCopy> {
  const folder = mkdtempSync(join(tmpdir(), "turnpike-copy-"));
  try {
    return await copyInto(join(folder, "copy.db"), connection);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Writes what a connection sees now to a file that is empty or not there. */
export async function vacuumInto(file: string, connection: Connection): Promise<void> {
  // The connection is read-only, and SQLite counts this as a write.
  const steps = [
    { sql: "pragma query_only = off", rows: [[]] },
    { sql: "vacuum into ?", rows: [[file]] },
  ];
  try {
    await connection.run(steps);
  } catch (error) {
    if (!(error instanceof Error && "code" in error && error.code === "SQLITE_FULL")) throw error;
    throw new NoRoomError("The disk is full: there is no room for a copy of the database.", { cause: error });
  }
}

/** Removes copies of a process that was killed while it copied. INVARIANT: this process alone has the database. */
export function removeOldCopies(path: string): void {
  const begin = `${basename(path)}${infix}`;
  for (const name of readdirSync(dirname(path))) {
    if (name.startsWith(begin) && ownEnd.test(name.slice(begin.length)))
      rmSync(join(dirname(path), name), { force: true });
  }
}

async function copyInto(file: string, connection: Connection): Promise<DatabaseCopy> {
  try {
    // The file is made first, so that no other user can read it at any time.
    closeSync(openSync(file, "wx", 0o600));
    await vacuumInto(file, connection);
    const handle = await open(file, "r");
    const { size: bytes } = await handle.stat();
    const stream = handle.createReadStream();
    const gone = new Promise<void>((resolve) => void stream.once("close", resolve));
    return { bytes, body: Readable.toWeb(stream) as ReadableStream<Uint8Array>, gone };
  } finally {
    for (const left of [file, `${file}-journal`]) rmSync(left, { force: true });
  }
}

function requireRoom(path: string): void {
  const sizes = [path, `${path}-wal`].filter((file) => existsSync(file)).map((file) => statSync(file).size);
  const needed = sizes.reduce((sum, size) => sum + size, reserveBytes);
  const { bavail, bsize } = statfsSync(dirname(path));
  if (bavail * bsize >= needed) return;
  const [wanted, free] = [needed, bavail * bsize].map((bytes) => Math.round(bytes / mebibyte));
  throw new NoRoomError(
    `A copy needs ${wanted} MiB beside the database briefly, and ${free} are free. Make room and try again.`,
  );
}
