import type { Tables } from "./tables.ts";

/** The tables that grow; in all others a scan costs nothing. */
const large = new Set([
  "audit",
  "grants",
  "uses",
  "replay",
  "credentials",
  "escalations",
  "messages",
  "files",
  "contents",
  "captures",
]);

/** What of a large table a statement reads beyond what it needs, by the database's own plan. */
export async function scansOf(tables: Tables, sql: string): Promise<string[]> {
  if (!/^\s*(select|update|delete|insert|with)\b/i.test(sql)) return [];
  if (tables.kind === "sqlite") {
    const rows = await tables.all(`explain query plan ${sql}`);
    return sqliteScans(
      sql,
      rows.map(({ detail }) => String(detail)),
    );
  }
  const [row] = await tables.all(`explain (generic_plan, format json) ${sql}`);
  return postgresScans(row?.["QUERY PLAN"]);
}

/**
 * Reads SQLite's plan: `SCAN audit` is all of it, and a search by the tenant alone, of a statement that has other conditions
 * too, is all of the tenant's.
 */
export function sqliteScans(sql: string, details: readonly string[]): string[] {
  const isFiltered = /\bwhere\b.*\band\b/is.test(sql);
  return details.flatMap((detail) => {
    const [, how, table = "", by = ""] = /^(SCAN|SEARCH) (\w+)(?: USING .*?(?:\((.*)\))?$)?/.exec(detail) ?? [];
    if (!large.has(table)) return [];
    // A list that begins at its beginning and stops at its limit is as it should be.
    if (how === "SCAN") return /\bwhere\b/i.test(sql) || !/\blimit\b/i.test(sql) ? [`all of ${table}`] : [];
    return isFiltered && by === "namespace_id=?" ? [`all of the tenant's ${table}`] : [];
  });
}

interface PlanNode {
  readonly "Node Type": string;
  readonly "Relation Name"?: string;
  readonly "Index Cond"?: string;
  readonly Filter?: string;
  readonly Plans?: readonly PlanNode[];
}

/** Reads PostgreSQL's plan in JSON: a sequential scan is all of a table, and an index by the tenant alone all of the tenant's. */
export function postgresScans(plan: unknown): string[] {
  const found: string[] = [];
  const walk = (node: PlanNode): void => {
    const table = node["Relation Name"] ?? "";
    const condition = node["Index Cond"];
    const isTenant = condition !== undefined && /^\(\(?namespace_id = [^()]*\)?\)$/.test(condition);
    if (large.has(table) && node["Node Type"] === "Seq Scan") found.push(`all of ${table}`);
    else if (large.has(table) && isTenant && node.Filter !== undefined) found.push(`all of the tenant's ${table}`);
    for (const child of node.Plans ?? []) walk(child);
  };
  const [top] = (Array.isArray(plan) ? plan : []) as { Plan: PlanNode }[];
  if (top !== undefined) walk(top.Plan);
  return found;
}
