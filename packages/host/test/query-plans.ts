import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { CompiledQuery } from "kysely";
import type { Database } from "../src/storage/database.ts";
import { openDatabase } from "../src/storage/open-database.ts";
import { SqliteFile } from "../src/storage/sqlite/sqlite-file.ts";
import type { RunSteps } from "../src/storage/steps.ts";
import { newLocation } from "./databases.ts";

/** A statement as a database gets it. */
interface Statement {
  sql: string;
  parameters: readonly unknown[];
  /** Run so often that PostgreSQL plans it once for all parameters. */
  isPrepared: boolean;
}

/** A new database, and every statement that runs on it. */
export interface PlannedDatabase {
  database: Database;
  statements: Statement[];
  /** How the database finds the rows of a statement, table by table. */
  planOf(statement: Statement): Promise<string[]>;
  close(): Promise<void>;
}

export async function openPlanned(kind: Database["kind"]): Promise<PlannedDatabase> {
  const folder = mkdtempSync(join(tmpdir(), "turnpike-test-"));
  const statements: Statement[] = [];
  const location = await newLocation(kind, folder);
  const opened = await openDatabase(location, ({ query: { sql, parameters } }) => {
    statements.push({ sql, parameters, isPrepared: false });
  });
  const record =
    (run: RunSteps): RunSteps =>
    (steps, end) => {
      for (const { sql, rows } of steps)
        for (const parameters of rows.slice(0, 1)) statements.push({ sql, parameters, isPrepared: true });
      return run(steps, end);
    };
  const database: Database = {
    ...opened,
    strand: opened.strand,
    read(sql, parameters) {
      const shown = kind === "sqlite" ? sql.replaceAll("$", "?") : sql;
      statements.push({ sql: shown, parameters, isPrepared: true });
      return opened.read(sql, parameters);
    },
    transact: (work) => opened.transact((run) => work(record(run))),
  };
  // A connection of its own: what is explained there blocks no other statement.
  const file = kind === "sqlite" ? new SqliteFile(location) : undefined;
  const explain = async (how: string, sql: string, parameters: readonly unknown[]): Promise<string[]> => {
    const query = CompiledQuery.raw(`explain (${how}, format json) ${sql}`, [...parameters]);
    const { rows } = await opened.db.executeQuery<{ "QUERY PLAN": unknown }>(query);
    return postgresSteps(rows[0]?.["QUERY PLAN"]);
  };
  return {
    database,
    statements,
    async planOf({ sql, parameters, isPrepared }) {
      if (file !== undefined)
        return sqliteSteps(file.prepare(`explain query plan ${sql}`).all(parameters) as { detail: string }[]);
      const once = await explain("generic_plan off", sql, parameters);
      return isPrepared ? [...once, ...(await explain("generic_plan", sql, []))] : once;
    },
    async close() {
      file?.close();
      await opened.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** The key of a table has a name of its own on either database; this is PostgreSQL's. */
function nameOf(index: string): string {
  return index.replace(/^sqlite_autoindex_(\w+)_\d+$/, "$1_pkey");
}

function sqliteSteps(rows: readonly { detail: string }[]): string[] {
  return rows.flatMap(({ detail }) => {
    if (detail.startsWith("USE TEMP B-TREE FOR ORDER BY")) return ["sorted"];
    const [, how, table, index] =
      /^(SCAN|SEARCH) (?!CONSTANT)(\w+)(?: USING (?:COVERING )?INDEX (\w+))?/.exec(detail) ?? [];
    if (how === undefined) return [];
    if (detail.includes("USING INTEGER PRIMARY KEY")) return ["rowid"];
    if (index === undefined) return [`all of ${table}`];
    return [how === "SCAN" ? `in the order of ${nameOf(index)}` : nameOf(index)];
  });
}

interface PlanNode {
  "Node Type": string;
  "Relation Name"?: string;
  "Index Name"?: string;
  "Index Cond"?: string;
  Plans?: PlanNode[];
}

function postgresSteps(plan: unknown): string[] {
  const steps: string[] = [];
  const walk = (node: PlanNode): void => {
    const { "Node Type": type, "Relation Name": table, "Index Name": index, "Index Cond": condition } = node;
    if (type === "Sort" || type === "Incremental Sort") steps.push("sorted");
    if (type === "Seq Scan") steps.push(`all of ${table}`);
    if (index !== undefined) steps.push(condition === undefined ? `in the order of ${index}` : index);
    for (const below of node.Plans ?? []) walk(below);
  };
  for (const { Plan } of plan as { Plan: PlanNode }[]) walk(Plan);
  return steps;
}
