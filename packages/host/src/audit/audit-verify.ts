import { sql, type Kysely } from "kysely";
import { columnText, yieldToEventLoop } from "../shared/index.ts";
import type { Schema } from "../storage/index.ts";
import { expectedRow, origin, type Head, type StrandHead } from "../ledger/index.ts";
import { readHeads } from "./audit-heads.ts";

/** How an audit log was found to be broken. */
export interface Break {
  /** What is wrong, as the end of a sentence. */
  why: string;
  strand?: number;
  /** The first row that is known to be changed or removed; none when it is the checkpoints that are not whole. */
  sequence?: number;
}

/** What was found in the audit log of a tenant, or in a part of it. */
export interface AuditVerdict {
  /** How many rows are what they have to be, from the first on. */
  rows: number;
  /** The heads of the strands that were followed to their ends. */
  heads: StrandHead[];
  broken?: Break;
  /** The last row that was verified, when there are more. */
  last?: StrandHead;
}

/** Which part of an audit log to verify: all of it unless given. */
export interface AuditPart {
  /** The last row of the part before. */
  behind?: StrandHead | undefined;
  /** How many rows at most. */
  rows?: number | undefined;
  /** The last rows that were exported and removed. */
  anchors?: readonly StrandHead[] | undefined;
}

/** A head that was signed, and by which checkpoint; undefined for one that this process knows and has yet to sign. */
export interface SignedHead extends StrandHead {
  checkpoint?: { sequence: number; at: string } | undefined;
}

type Db = Kysely<Schema>;

/** Few enough that checking them delays no call. */
const pageSize = 100;

/** Verifies every chain of a tenant from its anchor, or its first row, to its head, or one part of that. */
export async function verifyAuditLog(db: Db, namespaceId: string, part: AuditPart = {}): Promise<AuditVerdict> {
  const { behind, rows: most = Number.POSITIVE_INFINITY, anchors = [] } = part;
  const found: AuditVerdict = { rows: 0, heads: [] };
  const heads = await readHeads(db, namespaceId);
  for (const strand of await listStrands(db, namespaceId, [...heads, ...anchors])) {
    if (strand < (behind?.strand ?? 0)) continue;
    const head = heads.find((one) => one.strand === strand);
    const anchor = anchors.find((one) => one.strand === strand) ?? start;
    // What was exported and removed since the part before need not be there any more.
    const isBehind = strand === behind?.strand && behind.sequence > anchor.sequence;
    const from = isBehind ? behind : anchor;
    const chain = { db, namespaceId, strand, from: anchor };
    const { last, broken } = await verifyStrand(chain, from, head ?? start, most - found.rows);
    found.rows += last.sequence - from.sequence;
    const isEnd = broken !== undefined || last.sequence >= (head ?? start).sequence;
    if (!isEnd) return { ...found, last: { strand, ...last } };
    if (head !== undefined) found.heads.push(head);
    if (broken !== undefined) found.broken ??= broken;
  }
  return found;
}

/** One chain of one tenant. */
interface Chain {
  db: Db;
  namespaceId: string;
  strand: number;
  /** The last row that was exported and removed; the start when none was. */
  from: Head;
}

/** Follows a chain from one row to its head, or to the last of so many rows. */
async function verifyStrand(
  chain: Chain,
  from: Head,
  { sequence, hash }: Head,
  most: number,
): Promise<{ last: Head; broken?: Break }> {
  const first = await firstRow(chain);
  if (first !== undefined && first <= chain.from.sequence) return { last: from, broken: inserted(chain, first) };
  const until = Math.min(sequence, from.sequence + most);
  const last = await walk(chain, from, until);
  const found = { last };
  if (last.sequence < until) return { ...found, broken: touched(chain, last.sequence + 1) };
  if (until < sequence) return found;
  if (last.hash !== hash) return { ...found, broken: touched(chain, last.sequence + 1) };
  // A row behind the head came with a newer head, or did not come from here.
  const isEnd = (await lastRow(chain)) <= sequence;
  const isOlder = async (): Promise<boolean> => ((await readHead(chain)) ?? start).sequence > sequence;
  if (isEnd || (await isOlder())) return found;
  const end = await walk(chain, last, Number.MAX_SAFE_INTEGER);
  return { ...found, broken: touched(chain, end.sequence + 1) };
}

/**
 * What became of the first of these heads that is not in the audit log; undefined when all of them are. One before an anchor
 * cannot be looked up any more: the signed anchor proves it.
 */
export async function findBreak(
  db: Db,
  namespaceId: string,
  signed: readonly SignedHead[],
  anchors: readonly StrandHead[] = [],
): Promise<Break | undefined> {
  const anchored = new Map(anchors.map((anchor) => [anchor.strand, anchor]));
  const heads = signed.filter(({ strand, sequence }) => sequence >= (anchored.get(strand)?.sequence ?? 0));
  for (let place = 0; place < heads.length; place += pageSize) {
    const page = heads.slice(place, place + pageSize);
    const hashes = await readHashes(db, namespaceId, page);
    for (const anchor of anchors) hashes.set(nameOf(anchor), anchor.hash);
    const missing = page.find((head) => hashes.get(nameOf(head)) !== head.hash);
    if (missing !== undefined && hashes.has(nameOf(missing))) return changed(missing);
    if (missing !== undefined) {
      const { strand } = missing;
      const from = anchored.get(strand) ?? start;
      return removed(missing, Math.max(from.sequence, await lastRow({ db, namespaceId, strand, from })));
    }
    await yieldToEventLoop();
  }
  return undefined;
}

/** Whether anything is known of a tenant. */
export async function isKnownTenant(db: Db, namespaceId: string): Promise<boolean> {
  const tenant = columnText(namespaceId);
  // In the order of an index: a planner that takes every tenant for a large one would search for it row by row.
  const one = [
    db.selectFrom("audit_heads").select("namespace_id").where("namespace_id", "=", tenant).orderBy("strand").limit(1),
    db.selectFrom("audit").select("namespace_id").where("namespace_id", "=", tenant).orderBy("at").limit(1),
    db.selectFrom("grants").select("namespace_id").where("namespace_id", "=", tenant).orderBy("id").limit(1),
    db.selectFrom("credentials").select("namespace_id").where("namespace_id", "=", tenant).orderBy("id").limit(1),
  ];
  for (const rows of one) if ((await rows.executeTakeFirst()) !== undefined) return true;
  return false;
}

const start: Head = { sequence: 0, hash: origin };

function touched({ strand }: Chain, sequence: number): Break {
  return { strand, sequence, why: `${rowName(strand, sequence)} was changed or removed` };
}

function inserted({ strand, from }: Chain, sequence: number): Break {
  const why = `${rowName(strand, sequence)} is there, although rows up to ${from.sequence} were exported and removed`;
  return { strand, sequence, why };
}

function changed(signed: SignedHead): Break {
  const { strand, sequence } = signed;
  const why = `${rowName(strand, sequence)} or one before it was changed: ${witness(signed)} another`;
  return { strand, sequence, why };
}

function removed(signed: SignedHead, last: number): Break {
  const first = Math.min(last + 1, signed.sequence);
  const why = `${rowName(signed.strand, first)} was removed: ${witness(signed)} row ${signed.sequence}`;
  return { strand: signed.strand, sequence: first, why };
}

/** A host that is alone has strand 0, which needs no name. */
function rowName(strand: number, sequence: number): string {
  return strand === 0 ? `row ${sequence}` : `row ${sequence} of strand ${strand}`;
}

function witness({ checkpoint }: SignedHead): string {
  return checkpoint ? `checkpoint ${checkpoint.sequence} of ${checkpoint.at} signed` : "this host wrote";
}

/** Follows the chain from one row, no further than to another, for as long as each is what it has to be. */
async function walk(chain: Chain, from: Head, until: number): Promise<Head> {
  let last: Head = { sequence: from.sequence, hash: from.hash };
  for (;;) {
    const rows = await rowsOf(chain)
      .selectAll()
      .where("sequence", ">", last.sequence)
      .where("sequence", "<=", until)
      .orderBy("sequence")
      .limit(pageSize)
      .execute();
    for (const row of rows) {
      const expected = expectedRow(last, chain.strand, row.content);
      if (expected === undefined || !isSame(row, expected)) return last;
      last = { sequence: expected.sequence, hash: expected.hash };
    }
    if (rows.length < pageSize) return last;
    await yieldToEventLoop();
  }
}

function isSame(row: Schema["audit"], expected: Schema["audit"]): boolean {
  const columns = Object.keys(expected) as (keyof Schema["audit"])[];
  return columns.length === Object.keys(row).length && columns.every((column) => row[column] === expected[column]);
}

/** The number of the oldest row. */
async function firstRow(chain: Chain): Promise<number | undefined> {
  return (await rowsOf(chain).select("sequence").orderBy("sequence").limit(1).executeTakeFirst())?.sequence;
}

/** The number of the newest row, whatever is missing before it. */
async function lastRow(chain: Chain): Promise<number> {
  const newest = rowsOf(chain).select("sequence").orderBy("sequence", "desc").limit(1);
  return (await newest.executeTakeFirst())?.sequence ?? 0;
}

function rowsOf({ db, namespaceId, strand }: Chain) {
  return db.selectFrom("audit").where("namespace_id", "=", columnText(namespaceId)).where("strand", "=", strand);
}

/** The strands that have a head, and those that have rows without one. */
async function listStrands(db: Db, namespaceId: string, heads: readonly StrandHead[]): Promise<number[]> {
  const strands = new Set(heads.map(({ strand }) => strand));
  if ((await lastRow({ db, namespaceId, strand: 0, from: start })) > 0) strands.add(0);
  // On SQLite, where a host has strand 0 alone, a partial index finds the others, which no host wrote.
  const rows = db.selectFrom("audit").select("strand").where("namespace_id", "=", columnText(namespaceId));
  const others = rows
    .where(sql<boolean>`strand > 0`)
    .orderBy("strand")
    .limit(1);
  const next = (behind: number) => others.where("strand", ">", behind).executeTakeFirst();
  for (let found = await next(0); found !== undefined; found = await next(found.strand)) strands.add(found.strand);
  return [...strands].toSorted((one, other) => one - other);
}

async function readHead({ db, namespaceId, strand }: Chain): Promise<Head | undefined> {
  return (await readHeads(db, namespaceId)).find((head) => head.strand === strand);
}

async function readHashes(db: Db, namespaceId: string, heads: readonly StrandHead[]): Promise<Map<string, string>> {
  const rows = await db
    .selectFrom("audit")
    .select(["strand", "sequence", "hash"])
    .where("namespace_id", "=", columnText(namespaceId))
    .where("strand", "in", [...new Set(heads.map(({ strand }) => strand))])
    .where(
      "sequence",
      "in",
      heads.map(({ sequence }) => sequence),
    )
    .execute();
  return new Map(rows.map((row) => [nameOf(row), row.hash]));
}

function nameOf({ strand, sequence }: Omit<StrandHead, "hash">): string {
  return `${strand} ${sequence}`;
}
