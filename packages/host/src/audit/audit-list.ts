import { sql } from "kysely";
import { canonicalJson, principalKey, samePrincipal, type AuditEvent, type PrincipalRef } from "turnpike/contracts";
import { columnText, mapInSlices, yieldToEventLoop } from "../shared/index.ts";
import { detailsFit, type EventDetails } from "../admin-contract/index.ts";
import type { Database } from "../storage/index.ts";

/** The place of an event in the audit log: when it was, and its row in one of the tenant's chains. */
export interface AuditPlace {
  at: string;
  strand: number;
  sequence: number;
}

/** One event and its place. */
export interface AuditRow extends AuditPlace {
  event: AuditEvent;
}

/** Which events to list; instants are UTC, as the host writes them. */
export interface AuditFilter extends EventDetails {
  from?: string | undefined;
  until?: string | undefined;
  actor?: PrincipalRef | undefined;
  type?: string | undefined;
  outcome?: string | undefined;
  traceId?: string | undefined;
  /** Only what a user did, or what was done with their authority. */
  concerns?: PrincipalRef | undefined;
  /** Only events before this one. */
  before?: AuditPlace | undefined;
  /** Only this event and those after it. */
  downTo?: AuditPlace | undefined;
}

type Source = Pick<Database, "kind" | "reporting">;

/**
 * How many rows one page reads: an answer takes milliseconds, however few of them match. By time they lie beside each other;
 * those that another index finds are scattered over the table, and those that are searched for a text leave the database.
 */
const maxScanned = { byTime: 10_000, scattered: 2000, searched: 2000 };
/** How many rows are read at once when the host itself checks each. */
const readAtOnce = 500;

/** What most rows have. Those are found by time: the partial indexes of outcomes and types have only the others. */
const common = {
  outcome: { values: ["allowed", "succeeded"], rest: sql<boolean>`outcome <> 'allowed' and outcome <> 'succeeded'` },
  type: {
    values: ["authorization.checked", "tool.invoked"],
    rest: sql<boolean>`type <> 'authorization.checked' and type <> 'tool.invoked'`,
  },
};

/** Events of a tenant, newest first. */
export async function listEvents(
  source: Source,
  namespaceId: string,
  { limit, ...filter }: AuditFilter & { limit: number },
): Promise<AuditRow[]> {
  if (!hasDetails(filter)) return readRows(source, namespaceId, filter, limit);
  const found: AuditRow[] = [];
  let { before } = filter;
  for (;;) {
    const rows = await readRows(source, namespaceId, { ...filter, before }, readAtOnce);
    await mapInSlices(rows, (row) => {
      if (found.length < limit && detailsFit(row.event, filter) && concernsFits(row.event, filter)) found.push(row);
    });
    before = rows.at(-1);
    if (found.length === limit || rows.length < readAtOnce) return found;
    await yieldToEventLoop();
  }
}

/** Rows that fit the columns of a filter and may fit its details. */
async function readRows(source: Source, namespaceId: string, filter: AuditFilter, limit: number): Promise<AuditRow[]> {
  let rows = served(source, namespaceId, filter).select(["at", "strand", "sequence", "content"]).limit(limit);
  for (const other of conditionsOf(filter).others) {
    const { column, value } = other;
    // An expression is no column: the planner leaves the index of this condition alone and takes the chosen one.
    rows = isIndexed(other)
      ? rows.where(sql<boolean>`${sql.ref(column)} || '' = ${value}`)
      : rows.where(column, "=", value);
  }
  const search = sql.raw(source.kind === "sqlite" ? "instr" : "strpos");
  for (const alternatives of partsOf(filter)) {
    const has = alternatives.map((part) => sql<boolean>`${search}(content, ${part}) > 0`);
    rows = rows.where(sql<boolean>`(${sql.join(has, sql` or `)})`);
  }
  return mapInSlices(await rows.execute(), ({ content, ...place }) => ({
    ...place,
    event: JSON.parse(content) as AuditEvent,
  }));
}

function concernsFits({ actor, authority }: AuditEvent, { concerns }: AuditFilter): boolean {
  if (concerns === undefined) return true;
  return samePrincipal(actor, concerns) || (authority !== undefined && samePrincipal(authority, concerns));
}

function hasDetails({ resource, tool, grant, reason, text, concerns }: AuditFilter): boolean {
  return [resource, tool, grant, reason, text, concerns].some((detail) => detail !== undefined);
}

/**
 * Texts that the canonical JSON of every event with these details contains, one of each list. Another event may contain them
 * elsewhere, so each row that is found by them is checked.
 */
function partsOf({ resource, tool, grant, reason, concerns }: AuditFilter): string[][] {
  const member = (name: string, value: string): string => `"${name}":${JSON.stringify(value)}`;
  return [
    ...(resource === undefined ? [] : [[member("namespace", resource.namespace)]]),
    ...(resource === undefined || resource.path.length === 0
      ? []
      : [[`"path":${JSON.stringify(resource.path).slice(0, -1)}`]]),
    ...(tool === undefined ? [] : [[member("tool", tool)]]),
    ...(grant === undefined ? [] : [[member("grantId", grant), member("parentId", grant)]]),
    ...(reason === undefined ? [] : [[member("reason", reason)]]),
    ...(concerns === undefined ? [] : [["actor", "authority"].map((name) => `"${name}":${canonicalJson(concerns)}`)]),
  ];
}

/**
 * The last row that one page with this filter reads; undefined when the page ends with its limit or with the audit log,
 * because an index has exactly the rows that fit.
 */
export async function findScanEnd(
  source: Source,
  namespaceId: string,
  filter: AuditFilter,
): Promise<AuditPlace | undefined> {
  const { first, others } = conditionsOf(filter);
  if (others.length === 0 && !hasDetails(filter)) return undefined;
  const found = first === undefined ? maxScanned.byTime : maxScanned.scattered;
  const most = filter.text === undefined ? found : maxScanned.searched;
  const places = served(source, namespaceId, filter).select(["at", "strand", "sequence"]);
  return places
    .limit(1)
    .offset(most - 1)
    .executeTakeFirst();
}

/** The rows that an index finds, in its order. */
function served({ kind, reporting }: Source, namespaceId: string, filter: AuditFilter) {
  let rows = reporting
    .selectFrom("audit")
    .where("namespace_id", "=", columnText(namespaceId))
    .orderBy("at", "desc")
    .orderBy("strand", "desc")
    .orderBy("sequence", "desc");
  const { first } = conditionsOf(filter);
  if (first !== undefined) {
    const condition = sql<boolean>`${sql.ref(first.column)} = ${first.value}`;
    // Without statistics SQLite takes two bounds for the narrower choice, and reads all that happened between them.
    rows = rows.where(kind === "sqlite" ? sql<boolean>`unlikely(${condition})` : condition);
  }
  if (first?.column === "outcome" || first?.column === "type") rows = rows.where(common[first.column].rest);
  const { before, downTo } = boundsOf(filter);
  if (before !== undefined) rows = rows.where(sql<boolean>`(at, strand, sequence) < ${placeValue(before)}`);
  if (downTo !== undefined) rows = rows.where(sql<boolean>`(at, strand, sequence) >= ${placeValue(downTo)}`);
  return rows;
}

/** The two bounds of a list. With more than two, SQLite may choose the wrong index. */
function boundsOf({ from, until, before, downTo }: AuditFilter): Pick<AuditFilter, "before" | "downTo"> {
  return {
    before: until === undefined || (before && before.at < until) ? before : startOf(until),
    downTo: from === undefined || (downTo && downTo.at >= from) ? downTo : startOf(from),
  };
}

/** The place before everything that happened at an instant. */
function startOf(at: string): AuditPlace {
  return { at, strand: 0, sequence: 0 };
}

interface Condition {
  column: "trace_id" | "outcome" | "type" | "actor";
  value: string;
}

/** The condition that an index answers, the one that is likely to leave the fewest rows; and those to check row by row. */
function conditionsOf({ traceId, outcome, type, actor }: AuditFilter): {
  first: Condition | undefined;
  others: readonly Condition[];
} {
  const conditions: Condition[] = [
    ...(traceId === undefined ? [] : [{ column: "trace_id", value: columnText(traceId) } as const]),
    ...(outcome === undefined ? [] : [{ column: "outcome", value: outcome } as const]),
    ...(type === undefined ? [] : [{ column: "type", value: type } as const]),
    ...(actor === undefined ? [] : [{ column: "actor", value: columnText(principalKey(actor)) } as const]),
  ];
  const first = conditions.find(isIndexed);
  return { first, others: conditions.filter((condition) => condition !== first) };
}

function isIndexed({ column, value }: Condition): boolean {
  return (column !== "outcome" && column !== "type") || !common[column].values.includes(value);
}

function placeValue({ at, strand, sequence }: AuditPlace) {
  return sql`(${at}, cast(${strand} as integer), cast(${sequence} as bigint))`;
}
