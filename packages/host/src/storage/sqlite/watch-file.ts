import { closeSync, fstatSync, openSync, readSync, statSync } from "node:fs";
import { bytesIn, headerBytes } from "./file-header.ts";
import type { SqliteFile } from "./sqlite-file.ts";

/** The file under a running host is not the one that the host opened. Nothing can be written to it. */
export class LostFileError extends Error {
  override readonly name = "LostFileError";
  readonly code = "DATABASE_FILE_LOST";
}

/** Notices that a file was removed, replaced or cut short while it is open. */
export interface FileWatch {
  /** Throws `LostFileError`. Unless it must, it looks at the file at most once a second. */
  check(isForced?: boolean): void;
  /** From now on a host that started later on the same file is noticed as well. */
  own(hostId: number): void;
  close(): void;
}

const checkMs = 1000;

/**
 * Watches the file of a connection that writes. INVARIANT: it is closed behind every connection of this process, because closing a
 * descriptor of a file releases all locks that the process has on that file.
 */
export function watchFile(path: string, file: SqliteFile, clock = () => performance.now()): FileWatch {
  const descriptor = openSync(path, "r");
  const opened = fstatSync(descriptor);
  const log = statSync(`${path}-wal`);
  let { size } = opened;
  let logSize = log.size;
  let host: number | undefined;
  let checkedAt = clock();
  const requireSameFile = (): void => {
    const [there, logThere] = [path, `${path}-wal`].map((name) => statSync(name, { throwIfNoEntry: false }));
    if (!isSame(there, opened)) throw new LostFileError(`${path} was removed or replaced while this host had it open.`);
    if (!isSame(logThere, log))
      throw new LostFileError(`${path}-wal was removed or replaced while this host had it open.`);
    const header = Buffer.alloc(headerBytes);
    const isCut =
      there.size < size &&
      (readSync(descriptor, header, 0, headerBytes, 0) < headerBytes || there.size < bytesIn(header));
    // SQLite never makes its log shorter while it is open.
    if (isCut || logThere.size < logSize) throw new LostFileError(`${path} was cut short while this host had it open.`);
    const newest = host === undefined ? undefined : file.prepare("select max(id) as id from hosts").all()[0]?.["id"];
    if (Number(newest) > Number(host)) throw new LostFileError(`${path} was opened by another host.`);
    [size, logSize] = [there.size, logThere.size];
  };
  return {
    check(isForced = false) {
      if (!isForced && clock() - checkedAt < checkMs) return;
      requireSameFile();
      checkedAt = clock();
    },
    own: (hostId) => void (host = hostId),
    close: () => closeSync(descriptor),
  };
}

type Identity = ReturnType<typeof fstatSync>;

function isSame(one: Identity | undefined, other: Identity): one is Identity {
  return one !== undefined && one.ino === other.ino && one.dev === other.dev;
}
