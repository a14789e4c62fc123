import { closeSync, fdatasyncSync, fsyncSync, openSync, writeSync } from "node:fs";
import { join } from "node:path";
import { median } from "./statistics.ts";

const page = Buffer.alloc(4096, 1);
const pages = 1000;

/** Measures how long one page takes to get to the disk. */
export interface DiskSync {
  /** The median of so many syncs, in milliseconds. */
  measure(count: number): number;
  close(): void;
}

/**
 * Writes to a file as a database writes to its log: page after page over what is there already, each followed by a sync.
 * The file is on the disk of `folder`.
 */
export function openDiskSync(folder: string): DiskSync {
  const file = openSync(join(folder, "sync"), "w");
  for (let at = 0; at < pages; at += 1) writeSync(file, page, 0, page.length, at * page.length);
  fsyncSync(file);
  let next = 0;
  const once = (): number => {
    const start = performance.now();
    writeSync(file, page, 0, page.length, next * page.length);
    fdatasyncSync(file);
    next = (next + 1) % pages;
    return performance.now() - start;
  };
  return {
    measure: (count) => median(Array.from({ length: count }, once)),
    close: () => closeSync(file),
  };
}
