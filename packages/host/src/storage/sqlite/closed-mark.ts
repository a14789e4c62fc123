import {
  closeSync,
  existsSync,
  fsyncSync,
  openSync,
  readFileSync,
  readSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname } from "node:path";
import { headerBytes } from "./file-header.ts";

/** The name of the mark beside a file. */
export const markOf = (path: string): string => `${path}-closed`;

/** Records, beside a file, the state in which a host closed it. Nothing has the file open. */
export function markClosed(path: string): void {
  writeFileSync(markOf(path), stateOf(path), { mode: 0o600 });
}

/**
 * Whether a file is as a host here closed it, and has no log. INVARIANT: the mark is gone for good before anything is written to the file,
 * so no file is taken for closed whose host was killed later.
 */
export function takeClosedMark(path: string): boolean {
  const mark = markOf(path);
  if (!existsSync(mark)) return false;
  const marked = readFileSync(mark, "utf8");
  rmSync(mark);
  const folder = openSync(dirname(path), "r");
  fsyncSync(folder);
  closeSync(folder);
  return marked === stateOf(path) && ![`${path}-wal`, `${path}-journal`].some((log) => existsSync(log));
}

/**
 * What changes with the file: which one it is, its size, SQLite's count of its changes, and when its content and its description were
 * changed. No program sets the last one.
 */
function stateOf(path: string): string {
  const { ino, size, mtimeNs, ctimeNs } = statSync(path, { bigint: true });
  const header = Buffer.alloc(headerBytes);
  const file = openSync(path, "r");
  readSync(file, header, 0, headerBytes, 0);
  closeSync(file);
  return [ino, size, header.readUInt32BE(24), mtimeNs, ctimeNs].join(" ");
}
