import { canonicalJson } from "turnpike/contracts";
import type { Kysely } from "kysely";
import { columnText, yieldToEventLoop } from "../shared/index.ts";
import { expectedRow, origin, type Head, type StrandHead } from "../ledger/index.ts";
import type { ExportPlace } from "../admin-contract/index.ts";
import type { Schema } from "../storage/index.ts";
import { readHeads } from "./audit-heads.ts";
import { readAnchors, type ExportedHead } from "./anchors.ts";
import { signRecord } from "./signed-record.ts";
import type { SigningKey } from "./signing-key.ts";

/** An audit log, or an export of one, that is not valid; the message is for the operator. */
export class AuditExportError extends Error {
  override readonly name = "AuditExportError";
}

/** Where an audit log is exported from. */
export interface ExportSource {
  db: Kysely<Schema>;
  namespaceId: string;
  key: SigningKey;
}

/** Which rows are exported: those from before an instant, or all; and at most so many of a strand. */
export interface ExportRange {
  /** The host's time. */
  now: Date;
  before?: string | undefined;
  maxRows?: number;
}

/** Some lines of an export, and where the next ones begin; no place behind the last. */
export interface ExportPage {
  lines: string[];
  next?: ExportPlace;
  /** The last row on this page. */
  head?: ExportedHead;
}

type Row = Schema["audit"];

const pageSize = 200;
const start: Head = { sequence: 0, hash: origin };

/** The first page: its header says whose rows follow, and behind which rows they begin. */
export async function beginExport(
  source: ExportSource,
  range: ExportRange,
): Promise<ExportPage & { next: ExportPlace }> {
  const { db, namespaceId } = source;
  const anchors = await trustedAnchors(source);
  const heads = await readHeads(db, namespaceId);
  const from: StrandHead[] = [];
  const ends: StrandHead[] = [];
  for (const head of heads) {
    const begin = beginOf(anchors, head.strand);
    const end = await findEnd(source, begin, head, range);
    if (end.sequence === begin.sequence) continue;
    from.push(begin);
    ends.push({ ...end, strand: head.strand });
  }
  const at = range.now.toISOString();
  const next: ExportPlace = { at, ...(range.before !== undefined && { before: range.before }), from, ends, done: 0 };
  return { lines: [canonicalJson(headerOf(namespaceId, next))], next };
}

/** The page behind another. Throws `AuditExportError` when a row is not what it has to be: nothing broken is exported. */
export async function continueExport(source: ExportSource, place: ExportPlace): Promise<ExportPage> {
  const { from, ends, done } = place;
  const [begin, end] = [from[done], ends[done]];
  if (begin === undefined || end === undefined) return { lines: [await endLine(source, place)] };
  const last: Head = place.last ?? begin;
  const rows = await readRows(source, end.strand, last.sequence, end.sequence);
  const { lines, head } = follow(source, rows, last, end.strand);
  if (head === undefined || (head.sequence === end.sequence && head.hash !== end.hash))
    throw changed(end.strand, last.sequence + 1);
  const { last: _before, ...rest } = place;
  const isEnd = head.sequence === end.sequence;
  const next = isEnd ? { ...rest, done: done + 1 } : { ...rest, last: { sequence: head.sequence, hash: head.hash } };
  return { lines, next, head };
}

/** Every page of an export. */
export async function* exportPages(source: ExportSource, range: ExportRange): AsyncGenerator<ExportPage> {
  let page: ExportPage = await beginExport(source, range);
  yield page;
  while (page.next !== undefined) {
    await yieldToEventLoop();
    page = await continueExport(source, page.next);
    yield page;
  }
}

/** What the header and the end of an export say alike. */
function headerOf(namespaceId: string, { at, before, from }: ExportPlace) {
  const tenant = columnText(namespaceId);
  return {
    kind: "turnpike.audit.export",
    version: 1,
    namespaceId: tenant,
    at,
    ...(before && { before }),
    from,
  } as const;
}

/** The last line. INVARIANT: whatever a place says that came from outside, only heads that are in the audit log are signed. */
async function endLine(source: ExportSource, place: ExportPlace): Promise<string> {
  const { from, ends } = place;
  const anchors = await trustedAnchors(source);
  for (const [index, end] of ends.entries()) {
    const begin = beginOf(anchors, end.strand);
    if (canonicalJson(begin) !== canonicalJson(from[index]))
      throw new AuditExportError("rows were removed meanwhile, which were old enough. Export again.");
    const [row] = await readRows(source, end.strand, end.sequence - 1, end.sequence);
    if (row?.hash !== end.hash) throw changed(end.strand, end.sequence);
  }
  const rows = ends.reduce((sum, end, index) => sum + end.sequence - (from[index]?.sequence ?? 0), 0);
  const content = { ...headerOf(source.namespaceId, place), kind: "turnpike.audit.export.end", heads: ends, rows };
  return canonicalJson(await signRecord(content, source.key));
}

async function trustedAnchors({ db, namespaceId, key }: ExportSource): Promise<readonly StrandHead[]> {
  const { anchors, broken } = await readAnchors(db, namespaceId, key);
  if (broken !== undefined) throw new AuditExportError(`${broken.why}.`);
  return anchors;
}

function beginOf(anchors: readonly StrandHead[], strand: number): StrandHead {
  const { sequence, hash } = anchors.find((anchor) => anchor.strand === strand) ?? start;
  return { strand, sequence, hash };
}

/**
 * The last row of a strand that is exported. Rows behind one that is not old enough stay, whatever their times are; a time
 * that has not come yet is a mistake of some clock, and says nothing.
 */
async function findEnd(source: ExportSource, begin: StrandHead, head: StrandHead, range: ExportRange): Promise<Head> {
  const { now, before, maxRows = Number.MAX_SAFE_INTEGER } = range;
  if (before === undefined && head.sequence - begin.sequence <= maxRows) return head;
  const today = now.toISOString();
  let [last, end]: [number, Head] = [begin.sequence, begin];
  for (;;) {
    const rows = await readRows(source, head.strand, last, Math.min(head.sequence, begin.sequence + maxRows));
    for (const { sequence, hash, at } of rows) {
      const isOld = before === undefined || at < before;
      if (!isOld && at <= today) return end;
      if (isOld) end = { sequence, hash };
      last = sequence;
    }
    if (rows.length < pageSize) return end;
    await yieldToEventLoop();
  }
}

function readRows({ db, namespaceId }: ExportSource, strand: number, behind: number, until: number): Promise<Row[]> {
  return db
    .selectFrom("audit")
    .selectAll()
    .where("namespace_id", "=", columnText(namespaceId))
    .where("strand", "=", strand)
    .where("sequence", ">", behind)
    .where("sequence", "<=", until)
    .orderBy("sequence")
    .limit(pageSize)
    .execute();
}

/** The lines of rows. Each row has to continue the chain of the one before it. */
function follow(
  { namespaceId }: ExportSource,
  rows: readonly Row[],
  begin: Head,
  strand: number,
): { lines: string[]; head?: ExportedHead } {
  const lines: string[] = [];
  let last = begin;
  for (const row of rows) {
    const expected = expectedRow(last, strand, row.content);
    const isWhole =
      expected?.namespace_id === columnText(namespaceId) && canonicalJson(row) === canonicalJson(expected);
    if (!isWhole) throw changed(strand, last.sequence + 1);
    const { sequence, hash, content } = row;
    lines.push(canonicalJson({ strand, sequence, previous: last.hash, hash, event: JSON.parse(content) as unknown }));
    last = row;
  }
  const newest = rows.at(-1);
  return { lines, ...(newest && { head: { strand, sequence: newest.sequence, hash: newest.hash, at: newest.at } }) };
}

function changed(strand: number, sequence: number): AuditExportError {
  return new AuditExportError(
    `row ${sequence} of strand ${strand} was changed or removed, so nothing was exported. See \`audit verify\`.`,
  );
}
