// Installs what the checks need, unless exactly that is installed already: a copy of the lock file beside it says so.
import { spawnSync } from "node:child_process";
import { copyFileSync, existsSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const folder = fileURLToPath(new URL("../checks/", import.meta.url));
const lock = `${folder}package-lock.json`;
const installed = `${folder}node_modules/.installed-lock.json`;

const isInstalled = existsSync(installed) && readFileSync(installed).equals(readFileSync(lock));
if (!isInstalled) {
  // What runs as a script of a package has no place here. A failed installation leaves no copy, because npm begins by
  // removing everything.
  // Flags, although checks/.npmrc says the same: `npm run` hands on the settings of this repository, which come before that file.
  const flags = ["--ignore-scripts", "--no-engine-strict", "--legacy-peer-deps"];
  const { status } = spawnSync("npm", ["ci", ...flags, "--prefix", folder], { stdio: "inherit" });
  if (status !== 0) process.exit(1);
  copyFileSync(lock, installed);
}
