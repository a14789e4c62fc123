import type { OpenDriver } from "./sqlite-driver.ts";

/**
 * Node's own driver; undefined where Node has none, or one that is not ready: that of Node 22 is experimental, and says so at
 * every start, and those with an SQLite before 3.53.4 answer once with the columns that a table had before it changed.
 */
function nodeDriver({ node, sqlite = "0" } = process.versions): OpenDriver | undefined {
  if (!isAtLeast(node, "24") || !isAtLeast(sqlite, "3.53.4")) return undefined;
  return (process.getBuiltinModule("node:sqlite") as { DatabaseSync: OpenDriver } | undefined)?.DatabaseSync;
}

function isAtLeast(version: string, other: string): boolean {
  return version.localeCompare(other, "en", { numeric: true }) >= 0;
}

/** Opens a file with Node's own SQLite, else with `libsql`. */
export const ChosenDriver: OpenDriver = nodeDriver() ?? (await import("./libsql-driver.ts")).LibsqlDriver;
