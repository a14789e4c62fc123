import { TableNode, type Logger, type OperationNode, type RootOperationNode } from "kysely";
import type { Metrics } from "./metrics.ts";

/** A logger for Kysely that times every statement, including those that fail and those that end transactions. */
export function queryLog(metrics: Metrics): Logger {
  return ({ query: { query }, queryDurationMillis }) => {
    metrics.query(operationOf(query), tableOf(query), queryDurationMillis / 1000);
  };
}

const operations: Partial<Record<RootOperationNode["kind"], string>> = {
  SelectQueryNode: "select",
  InsertQueryNode: "insert",
  UpdateQueryNode: "update",
  DeleteQueryNode: "delete",
};

const transactionWords = new Set(["begin", "commit", "rollback"]);

/** The kind of a statement. Hand-written SQL may hold anything, so only a few of its words become labels. */
function operationOf(query: RootOperationNode): string {
  if (query.kind !== "RawNode") return operations[query.kind] ?? "other";
  const [word = ""] = query.sqlFragments[0]?.split(" ", 1) ?? [];
  return transactionWords.has(word) ? word : "other";
}

/** The table of a statement, by its name in the source. */
function tableOf(query: RootOperationNode): string {
  switch (query.kind) {
    case "SelectQueryNode":
    case "DeleteQueryNode":
      return nameOf(query.from?.froms[0]);
    case "InsertQueryNode":
      return nameOf(query.into);
    case "UpdateQueryNode":
      return nameOf(query.table);
    default:
      return "none";
  }
}

function nameOf(node: OperationNode | undefined): string {
  return node !== undefined && TableNode.is(node) ? node.table.identifier.name : "none";
}
