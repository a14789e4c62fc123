import { keyOf, type TrailRow } from "./trail-filter.ts";

/** Rows that are drawn, or left out of sight, together. A block keeps its place when others come before or behind it. */
export interface TrailBlock {
  key: number;
  rows: readonly TrailRow[];
}

/** The part of a trail that was read, the newest row first. */
export interface TrailList {
  blocks: readonly TrailBlock[];
  /** Where the next page begins; undefined at the end. */
  cursor: string | undefined;
  /** Rows that have come since, the newest first, and are not shown yet. */
  pending: readonly TrailRow[];
  /** Whether more came than are held: showing them means reading the list again. */
  isGap: boolean;
}

/** How many rows a block of new ones takes at most. */
const blockSize = 200;
const recentBlocks = 5;
/** How many new rows are held for somebody who reads older ones, and how many are shown before the list begins anew. */
const [maxPending, maxShown] = [1000, 20_000];

export const emptyList: TrailList = { blocks: [], cursor: undefined, pending: [], isGap: false };

export function countRows({ blocks }: Pick<TrailList, "blocks">): number {
  return blocks.reduce((sum, { rows }) => sum + rows.length, 0);
}

/** A list that is read from its beginning. Rows that came while it was read stay, unless they are in it. */
export function beginList(before: TrailList, rows: readonly TrailRow[], cursor: string | undefined): TrailList {
  const [newest] = rows;
  const come = [...before.pending, ...before.blocks.flatMap((block) => block.rows)];
  const since = come.filter((row) => newest === undefined || byNewest(row, newest) < 0);
  return receiveRows(appendPage(emptyList, rows, cursor), since);
}

/** Adds an older page behind what is there. */
export function appendPage(list: TrailList, rows: readonly TrailRow[], cursor: string | undefined): TrailList {
  const key = (list.blocks.at(-1)?.key ?? 0) + 1;
  return { ...list, blocks: rows.length === 0 ? list.blocks : [...list.blocks, { key, rows }], cursor };
}

/** Takes rows that have just come, in any order, without those that are there already. */
export function receiveRows(list: TrailList, come: readonly TrailRow[]): TrailList {
  // Only recent rows can come twice: with a page that was read, and by the stream.
  const recent = list.blocks.slice(0, recentBlocks).flatMap(({ rows }) => rows);
  const known = new Set([...list.pending, ...recent].map(keyOf));
  const fresh = come.filter((row) => {
    const key = keyOf(row);
    if (known.has(key)) return false;
    known.add(key);
    return true;
  });
  if (fresh.length === 0) return list;
  const pending = [...fresh, ...list.pending].toSorted(byNewest);
  const isGap = list.isGap || pending.length > maxPending || pending.length + countRows(list) > maxShown;
  return { ...list, pending: isGap ? pending.slice(0, maxPending) : pending, isGap };
}

/** Puts the rows that have come on top. */
export function showPending(list: TrailList): TrailList {
  if (list.pending.length === 0 || list.isGap) return list;
  const [first, ...rest] = list.blocks;
  // Only blocks of new rows grow (their keys are below 1): those that were read stay what they are.
  const isOpen = first !== undefined && first.key < 1 && first.rows.length + list.pending.length <= blockSize;
  const blocks = isOpen
    ? [{ ...first, rows: [...list.pending, ...first.rows] }, ...rest]
    : [{ key: Math.min(first?.key ?? 1, 1) - 1, rows: list.pending }, ...list.blocks];
  return { ...list, blocks, pending: [] };
}

function byNewest({ event: one, ...at }: TrailRow, { event: other, ...before }: TrailRow): number {
  return Date.parse(other.at) - Date.parse(one.at) || before.strand - at.strand || before.sequence - at.sequence;
}
