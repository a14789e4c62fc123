// The packages as they would be published, in a folder beside what the checks have installed, with the programs that use them.
import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";

const repository = join(import.meta.dirname, "../..");
export const packed = join(import.meta.dirname, ".build/packed");

export function makePacked() {
  rmSync(packed, { recursive: true, force: true });
  mkdirSync(packed, { recursive: true });
  const names = ["turnpike", "turnpike-agents"];
  const flags = ["pack", "--silent", "--pack-destination", packed, ...names.flatMap((name) => ["-w", name])];
  const tarballs = execFileSync("npm", flags, { cwd: repository, encoding: "utf8" }).trim().split("\n");
  names.forEach((name, index) => {
    const folder = join(packed, "node_modules", name);
    mkdirSync(folder, { recursive: true });
    execFileSync("tar", ["-xzf", join(packed, tarballs[index]), "--strip-components=1", "-C", folder]);
  });
  cpSync(join(import.meta.dirname, "programs"), join(packed, "programs"), { recursive: true });
}
