import { execFileSync, spawnSync } from "node:child_process";
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { repository } from "./repository.ts";

const versions = join(repository, ".build", "versions");
const parts = ["packages/turnpike", "packages/host", "tests/support", ":(glob)tsconfig*.json"];

/** The last version that knows no epochs. */
export const versionWithoutEpochs = "a840e6b25f86611b250062292217a1b1b35d1fe6";

/** The version before this one, and its epoch. */
export const versionBefore = "d0c1501a09940da22956298415609ccdcd6c7bb9";
export const epochBefore = 32;

/**
 * The folder of an earlier version: what it was at a commit, compiled as it was, with the packages that are installed now. It is made once
 * and stays. Throws where the history is not there.
 */
export function earlierVersion(commit: string): string {
  const folder = join(versions, commit);
  if (existsSync(folder)) return folder;
  mkdirSync(versions, { recursive: true });
  const draft = mkdtempSync(join(versions, "draft-"));
  try {
    checkOut(commit, draft);
    mkdirSync(join(draft, "node_modules"));
    symlinkSync("../packages/turnpike", join(draft, "node_modules/turnpike"));
    symlinkSync(join(repository, "packages/host/node_modules"), join(draft, "packages/host/node_modules"));
    compile(draft);
    renameSync(draft, folder);
  } catch (error) {
    // Another process may have made it meanwhile.
    if (!existsSync(folder)) throw error;
  } finally {
    rmSync(draft, { recursive: true, force: true });
  }
  return folder;
}

function checkOut(commit: string, folder: string): void {
  const { status } = spawnSync("git", ["cat-file", "-e", `${commit}^{commit}`], { cwd: repository, stdio: "ignore" });
  if (status !== 0)
    throw new Error(
      `This test runs an earlier version, which it makes of commit ${commit}, and that is not here. It needs a clone with its ` +
        "history: git fetch --unshallow",
    );
  // An index of its own: that of the checkout stays as it is.
  const env = { ...process.env, GIT_INDEX_FILE: join(folder, "index") };
  execFileSync("git", [`--work-tree=${folder}`, "checkout", "--quiet", commit, "--", ...parts], {
    cwd: repository,
    env,
  });
}

function compile(folder: string): void {
  const compiler = join(repository, "node_modules/typescript/bin/tsc");
  const { stdout } = spawnSync(process.execPath, [compiler, "-b", "--noCheck", "packages/host"], {
    cwd: folder,
    encoding: "utf8",
  });
  // Types are not checked, which takes most of the time, and would be against the packages of now.
  if (!existsSync(join(folder, "packages/host/dist/compose/compose.js")))
    throw new Error(`The earlier version was not compiled: ${stdout}`);
}
