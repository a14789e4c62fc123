import { readFileSync, statSync } from "node:fs";

/** What the bundle of a checkout is made from, seen from the package: what was compiled, what is installed, and how. */
const ingredients = [
  "dist/host.tsbuildinfo",
  "../turnpike/dist/internal.tsbuildinfo",
  "../turnpike/dist/contracts.tsbuildinfo",
  "../turnpike/dist/turnpike.tsbuildinfo",
  "../../node_modules/.package-lock.json",
  "bundle.js",
];

/** The folder of this package. */
export const packageUrl: URL = new URL("../../", import.meta.url);

/** When each of them was written; 0 for a missing one. */
export function ingredientTimes(folder: URL): number[] {
  return ingredients.map((file) => statSync(new URL(file, folder), { throwIfNoEntry: false })?.mtimeMs ?? 0);
}

/**
 * Whether the bundle is what a command has to run. In a published package it is; in a checkout, where compiling leaves its notes
 * beside the code, only while nothing was compiled or installed since.
 */
export function isBundleCurrent(folder: URL): boolean {
  const bundledFrom = new URL("dist/command/bundled-from.json", folder);
  if (statSync(bundledFrom, { throwIfNoEntry: false }) === undefined) return false;
  const times = ingredientTimes(folder);
  return times[0] === 0 || readFileSync(bundledFrom, "utf8") === JSON.stringify(times);
}

/** The module of the command, or of its hook: from the bundle, or one of the files that were compiled after it. */
export function commandFile(name: "cli" | "hook" = "cli"): string {
  return new URL(`dist/${isBundleCurrent(packageUrl) ? "command" : "cli"}/${name}.js`, packageUrl).href;
}
