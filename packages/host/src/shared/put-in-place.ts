import { closeSync, fsyncSync, linkSync, openSync, renameSync, rmSync } from "node:fs";
import { dirname } from "node:path";

/**
 * Gives a complete file its final name, durably: a reader never finds a part of it under that name. Throws `EEXIST` for a name
 * that is taken, unless that file is to be replaced.
 */
export function putInPlace(draft: string, file: string, { isReplaced = false }: { isReplaced?: boolean } = {}): void {
  sync(draft);
  if (isReplaced) renameSync(draft, file);
  else {
    // Unlike a rename, this never replaces what another process has just put there.
    linkSync(draft, file);
    rmSync(draft);
  }
  sync(dirname(file));
}

function sync(path: string): void {
  const handle = openSync(path, "r");
  try {
    fsyncSync(handle);
  } finally {
    closeSync(handle);
  }
}
