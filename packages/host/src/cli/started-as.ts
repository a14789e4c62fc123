import { realpathSync } from "node:fs";
import { delimiter, join } from "node:path";
import { commandLine } from "./format.ts";

/**
 * What starts this program again: `npx turnpike` where npm started it, `turnpike` where a shell finds it, otherwise Node with the
 * script.
 */
export function startedAs({ npm_command: npm, PATH = "" }: NodeJS.ProcessEnv, script: string): string {
  // npm puts what it runs on the path of that run alone. A package that it downloaded for one run is found by its own name.
  if (npm !== undefined) return /[\\/]_npx[\\/]/.test(script) ? "npx turnpike-host" : "npx turnpike";
  const file = realPath(script);
  const isFound = PATH.split(delimiter).some(
    (folder) => folder !== "" && file !== undefined && realPath(join(folder, "turnpike")) === file,
  );
  return isFound ? "turnpike" : commandLine(["node", script]);
}

function realPath(file: string): string | undefined {
  try {
    return realpathSync(file);
  } catch {
    return undefined;
  }
}
