// Has tests write to memory where there is room, and where what is installed for a test may be executed: each commit of SQLite
// waits for the disk, and a run of the tests makes many thousands. TEST_FOLDER names another place.
import { spawnSync } from "node:child_process";
import { chmodSync, mkdtempSync, rmSync, statfsSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const memory = "/dev/shm";
const room = 3e9;

let made;

/** Sets TEST_FOLDER, unless it is set. Vitest calls it before it starts processes. */
export function setup() {
  if (process.env["TEST_FOLDER"]) return;
  made = newMemoryFolder();
  if (made !== undefined) process.env["TEST_FOLDER"] = made;
}

export function teardown() {
  if (made !== undefined) rmSync(made, { recursive: true, force: true });
}

function newMemoryFolder() {
  let folder;
  try {
    const { bavail, bsize } = statfsSync(memory);
    if (bavail * bsize < room) return undefined;
    folder = mkdtempSync(join(memory, "turnpike."));
  } catch {
    return undefined;
  }
  // Tests also run as users other than the one who starts them.
  chmodSync(folder, 0o755);
  const program = join(folder, "executable");
  writeFileSync(program, "#!/bin/sh\n", { mode: 0o755 });
  if (spawnSync(program).status === 0) return folder;
  rmSync(folder, { recursive: true });
  return undefined;
}
