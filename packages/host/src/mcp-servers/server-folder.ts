import { execFile } from "node:child_process";
import { chown, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

/** Another user of the system that a server runs as. */
export interface ServerUser {
  uid: number;
  gid: number;
}

/** A new folder that only its user can read: a server's working directory, home and place for temporary files. */
export async function makeOwnFolder(user: ServerUser | undefined): Promise<string> {
  // Not in the data folder: that is closed to every other user.
  const folder = await mkdtemp(join(tmpdir(), "turnpike-mcp-"));
  if (user !== undefined) await chown(folder, user.uid, user.gid);
  return folder;
}

/** Removes the folder with everything in it; what cannot be removed stays for the system to clean up. */
export async function removeOwnFolder(folder: string, user: ServerUser | undefined): Promise<void> {
  try {
    // As its own user: what such a server left behind could lead root to files that are not the server's.
    // Without variables: that user can read those of every process of theirs, and the host's hold keys.
    if (user !== undefined) await promisify(execFile)("/bin/rm", ["-rf", "--", folder], { ...user, cwd: "/", env: {} });
    else await rm(folder, { recursive: true, force: true });
  } catch {
    // Nothing here depends on it.
  }
}
