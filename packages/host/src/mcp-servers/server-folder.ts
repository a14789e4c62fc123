import { execFile } from "node:child_process";
import { chown, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";

/** The system user that a server runs as. */
export interface ServerUser {
  uid: number;
  gid: number;
}

/** Makes a folder that only its user can read: a server's working directory, home and folder for temporary files. */
export async function makeServerFolder(user: ServerUser | undefined): Promise<string> {
  // It is not in the data folder, which no other user can enter.
  const folder = await mkdtemp(join(tmpdir(), "turnpike-mcp-"));
  if (user !== undefined) await chown(folder, user.uid, user.gid);
  return folder;
}

/** Removes the folder with its contents. What cannot be removed is left for the system to clean up. */
export async function removeServerFolder(folder: string, user: ServerUser | undefined): Promise<void> {
  try {
    // It is removed as its own user: links that the server left could lead root to other files. The environment is
    // empty, because that user can read it, and the host's holds keys.
    if (user !== undefined) await promisify(execFile)("/bin/rm", ["-rf", "--", folder], { ...user, cwd: "/", env: {} });
    else await rm(folder, { recursive: true, force: true });
  } catch {
    // Nothing here depends on it.
  }
}
