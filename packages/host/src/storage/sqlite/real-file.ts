import { existsSync, lstatSync, readlinkSync, realpathSync, statSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { ConfigError } from "../../shared/index.ts";

/** The file to which a path leads through symbolic links, also where no file is yet. SQLite puts its log beside that one. */
export function realFile(path: string): string {
  if (existsSync(path)) return realpathSync(path);
  if (lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() === true)
    return realFile(resolve(dirname(path), readlinkSync(path)));
  const folder = dirname(resolve(path));
  return existsSync(folder) ? join(realpathSync(folder), basename(path)) : resolve(path);
}

/** Refuses a file with more than one name: SQLite would have one log for each of them, and lose what is in the other. */
export function refuseHardLinks(path: string, file: string): void {
  const { nlink } = statSync(file);
  if (nlink === 1) return;
  throw new ConfigError(
    `database: ${path} is one file under ${nlink} names (hard links), and each name would have a log of its own. ` +
      "Remove the other names, or copy the file while no host runs on it, and name the copy.",
  );
}
