import { setImmediate as yieldToEventLoop } from "node:timers/promises";
import type { Kysely } from "kysely";
import { canonicalJson, columnText } from "../base/index.ts";
import type { Schema } from "../storage/index.ts";
import { expectedRow, origin, sharedStrand, type Head, type StrandHead } from "./chain.ts";

/** How a trail is not what it has to be. */
export interface Break {
  /** What is wrong, as the end of a sentence. */
  why: string;
  strand?: number;
  /** The first row that is known to be changed or removed; none when it is the checkpoints that are not whole. */
  sequence?: number;
}

/** What was found on the trail of a tenant. */
export interface TrailState {
  /** How many rows are what they have to be, from the first on. */
  rows: number;
  heads: StrandHead[];
  broken?: Break;
}

/** A head that was signed, and by which checkpoint; undefined for one that this process knows and has yet to sign. */
export interface SignedHead extends StrandHead {
  checkpoint?: { sequence: number; at: string } | undefined;
}

type Db = Kysely<Schema>;

/** Few enough that checking them holds nobody up. */
const pageSize = 200;

/** Follows the chain of a tenant from its first row to its head. */
export async function verifyTrail(db: Db, namespaceId: string): Promise<TrailState> {
  const head = await readHead(db, namespaceId);
  const last = await walk(db, namespaceId, head?.sequence ?? 0);
  const found = {
    rows: last.sequence,
    heads: head === undefined ? [] : [{ strand: sharedStrand, sequence: head.sequence, hash: head.hash }],
  };
  const { sequence, hash } = head ?? start;
  if (last.sequence < sequence || last.hash !== hash) return { ...found, broken: touched(last.sequence + 1) };
  // A row behind the head came with a newer head, or did not come from here.
  const isEnd = (await lastRow(db, namespaceId)) <= sequence;
  if (isEnd || ((await readHead(db, namespaceId)) ?? start).sequence > sequence) return found;
  const end = await walk(db, namespaceId, Number.MAX_SAFE_INTEGER);
  return { ...found, broken: touched(end.sequence + 1) };
}

/** What became of the first of these heads that is not on the trail; undefined when all of them are. */
export async function findBreak(db: Db, namespaceId: string, heads: readonly SignedHead[]): Promise<Break | undefined> {
  for (let place = 0; place < heads.length; place += pageSize) {
    const page = heads.slice(place, place + pageSize);
    const hashes = await readHashes(
      db,
      namespaceId,
      page.map(({ sequence }) => sequence),
    );
    const missing = page.find(({ sequence, hash }) => hashes.get(sequence) !== hash);
    if (missing !== undefined && hashes.has(missing.sequence)) return changed(missing);
    if (missing !== undefined) return removed(missing, await lastRow(db, namespaceId));
    await yieldToEventLoop();
  }
  return undefined;
}

/** Whether anything is known of a tenant. */
export async function isKnownTenant(db: Db, namespaceId: string): Promise<boolean> {
  for (const table of ["audit_heads", "audit", "grants", "credentials"] as const) {
    const row = db.selectFrom(table).select("namespace_id").where("namespace_id", "=", columnText(namespaceId));
    if ((await row.limit(1).executeTakeFirst()) !== undefined) return true;
  }
  return false;
}

const start: Head = { sequence: 0, hash: origin };

function touched(sequence: number): Break {
  return { strand: sharedStrand, sequence, why: `row ${sequence} was changed or removed` };
}

function changed(signed: SignedHead): Break {
  const { strand, sequence } = signed;
  return { strand, sequence, why: `row ${sequence} or one before it was changed: ${witness(signed)} another` };
}

function removed(signed: SignedHead, last: number): Break {
  const first = Math.min(last + 1, signed.sequence);
  const why = `row ${first} was removed: ${witness(signed)} row ${signed.sequence}`;
  return { strand: signed.strand, sequence: first, why };
}

function witness({ checkpoint }: SignedHead): string {
  return checkpoint ? `checkpoint ${checkpoint.sequence} of ${checkpoint.at} signed` : "this host wrote";
}

/** Follows the chain, no further than to a row, for as long as each is what it has to be. */
async function walk(db: Db, namespaceId: string, until: number): Promise<Head> {
  let last = start;
  for (;;) {
    const rows = await db
      .selectFrom("audit")
      .selectAll()
      .where("namespace_id", "=", columnText(namespaceId))
      .where("sequence", ">", last.sequence)
      .where("sequence", "<=", until)
      .orderBy("sequence")
      .limit(pageSize)
      .execute();
    for (const row of rows) {
      const expected = expectedRow(last, row.content);
      if (expected === undefined || canonicalJson(row) !== canonicalJson(expected)) return last;
      last = expected;
    }
    if (rows.length < pageSize) return last;
    await yieldToEventLoop();
  }
}

/** The number of the newest row, whatever is missing before it. */
async function lastRow(db: Db, namespaceId: string): Promise<number> {
  const rows = db.selectFrom("audit").select("sequence").where("namespace_id", "=", columnText(namespaceId));
  return (await rows.orderBy("sequence", "desc").limit(1).executeTakeFirst())?.sequence ?? 0;
}

async function readHead(db: Db, namespaceId: string): Promise<Head | undefined> {
  const head = db.selectFrom("audit_heads").select(["sequence", "hash"]);
  return head.where("namespace_id", "=", columnText(namespaceId)).executeTakeFirst();
}

async function readHashes(
  db: Db,
  namespaceId: string,
  sequences: readonly number[],
): Promise<ReadonlyMap<number, string>> {
  const rows = await db
    .selectFrom("audit")
    .select(["sequence", "hash"])
    .where("namespace_id", "=", columnText(namespaceId))
    .where("sequence", "in", sequences)
    .execute();
  return new Map(rows.map(({ sequence, hash }) => [sequence, hash]));
}
