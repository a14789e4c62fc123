import { expect, test } from "vitest";
import { postgresScans, sqliteScans } from "./plans.ts";

const byTenant = "SEARCH audit USING INDEX sqlite_autoindex_audit_1 (namespace_id=?)";

for (const row of [
  {
    name: "a scan of a table that grows",
    sql: "select * from audit where actor = ?",
    plan: "SCAN audit",
    scans: ["all of audit"],
  },
  {
    name: "a count of a table that grows",
    sql: "select count(*) from audit",
    plan: "SCAN audit",
    scans: ["all of audit"],
  },
  {
    name: "the beginning of a list",
    sql: "select * from audit order by sequence limit ?",
    plan: "SCAN audit USING INDEX a",
    scans: [],
  },
  {
    name: "a scan of a table that stays small",
    sql: "select * from revision where id > ?",
    plan: "SCAN revision",
    scans: [],
  },
  {
    name: "a search by the tenant alone, for one of its actors",
    sql: "select * from audit where namespace_id = ? and actor = ?",
    plan: byTenant,
    scans: ["all of the tenant's audit"],
  },
  {
    name: "a search by the tenant alone, for all of it",
    sql: "select * from audit where namespace_id = ?",
    plan: byTenant,
    scans: [],
  },
  {
    name: "a search by everything that is asked for",
    sql: "select * from audit where namespace_id = ? and trace_id = ?",
    plan: "SEARCH audit USING INDEX audit_by_trace (namespace_id=? AND trace_id=?)",
    scans: [],
  },
]) {
  test(`${row.name} is ${row.scans[0] ?? "no scan"} on SQLite`, () => {
    expect(sqliteScans(row.sql, [row.plan, "USE TEMP B-TREE FOR ORDER BY"])).toEqual(row.scans);
  });
}

const below = (node: object): unknown => [{ Plan: { "Node Type": "Limit", Plans: [node] } }];

for (const row of [
  { name: "a sequential scan", node: { "Node Type": "Seq Scan", "Relation Name": "replay" }, scans: ["all of replay"] },
  { name: "one of a table that stays small", node: { "Node Type": "Seq Scan", "Relation Name": "hosts" }, scans: [] },
  {
    name: "an index by the tenant alone, and a filter",
    node: {
      "Node Type": "Index Scan",
      "Relation Name": "audit",
      "Index Cond": "(namespace_id = $1)",
      Filter: "(actor = $2)",
    },
    scans: ["all of the tenant's audit"],
  },
  {
    name: "an index by the tenant alone, and no filter",
    node: { "Node Type": "Index Scan", "Relation Name": "audit", "Index Cond": "(namespace_id = $1)" },
    scans: [],
  },
  {
    name: "an index by more than the tenant",
    node: {
      "Node Type": "Index Scan",
      "Relation Name": "audit",
      "Index Cond": "((namespace_id = $1) AND (trace_id = $2))",
      Filter: "(actor = $3)",
    },
    scans: [],
  },
]) {
  test(`${row.name} is ${row.scans[0] ?? "no scan"} on PostgreSQL`, () => {
    expect(postgresScans(below(row.node))).toEqual(row.scans);
  });
}
