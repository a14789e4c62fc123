import type { OpenDriver } from "./sqlite-driver.ts";

/**
 * Node's own driver; undefined where Node has none that is ready. The one of Node 22 is experimental and warns at every start.
 * With an SQLite before 3.53.4, a statement returns the old columns once after its table changed.
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
