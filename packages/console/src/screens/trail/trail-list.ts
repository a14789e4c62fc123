import { callOf, foldRows, type TrailEntry } from "./fold-calls.ts";
import { keyOf, type TrailRow } from "./trail-filter.ts";

/** Entries that are drawn, or left out of sight, together. A block keeps its place when others come before or behind it. */
export interface TrailBlock {
  key: number;
  entries: readonly TrailEntry[];
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

/** How many entries a block of new ones takes at most. */
const blockSize = 200;
const recentBlocks = 5;
/** How many new rows are held for somebody who reads older ones, and how many are shown before the list begins anew. */
const [maxPending, maxShown] = [1000, 20_000];

export const emptyList: TrailList = { blocks: [], cursor: undefined, pending: [], isGap: false };

/** How many lines there are: a call is one, whatever the number of its rows. */
export function countEntries({ blocks }: Pick<TrailList, "blocks">): number {
  return blocks.reduce((sum, { entries }) => sum + entries.length, 0);
}

/** A list that is read from its beginning. Rows that came while it was read stay, unless they are in it. */
export function beginList(before: TrailList, rows: readonly TrailRow[], cursor: string | undefined): TrailList {
  const [newest] = rows;
  const come = [...before.pending, ...before.blocks.flatMap((block) => block.entries.flat())];
  const since = come.filter((row) => newest === undefined || byNewest(row, newest) < 0);
  return receiveRows(appendPage(emptyList, rows, cursor), since);
}

/** Adds an older page behind what is there. */
export function appendPage(list: TrailList, rows: readonly TrailRow[], cursor: string | undefined): TrailList {
  const key = (list.blocks.at(-1)?.key ?? 0) + 1;
  const { blocks, rest } = joinCalls(list.blocks, rows);
  const entries = foldRows(rest);
  return { ...list, blocks: entries.length === 0 ? blocks : [...blocks, { key, entries }], cursor };
}

/** Takes rows that have just come, in any order, without those that are there already. */
export function receiveRows(list: TrailList, come: readonly TrailRow[]): TrailList {
  // Only recent rows can come twice: with a page that was read, and by the stream.
  const recent = list.blocks.slice(0, recentBlocks).flatMap(({ entries }) => entries.flat());
  const known = new Set([...list.pending, ...recent].map(keyOf));
  const fresh = come.filter((row) => {
    const key = keyOf(row);
    if (known.has(key)) return false;
    known.add(key);
    return true;
  });
  if (fresh.length === 0) return list;
  // What became of a call that is shown belongs to its line, which stays where it is.
  const { blocks, rest } = joinCalls(list.blocks, fresh);
  const pending = [...rest, ...list.pending].toSorted(byNewest);
  const isGap = list.isGap || pending.length > maxPending || pending.length + countEntries(list) > maxShown;
  return { ...list, blocks, pending: isGap ? pending.slice(0, maxPending) : pending, isGap };
}

/** Puts the rows that have come on top. */
export function showPending(list: TrailList): TrailList {
  if (list.pending.length === 0 || list.isGap) return list;
  const [first, ...rest] = list.blocks;
  // Only blocks of new rows grow (their keys are below 1): those that were read stay what they are.
  const come = foldRows(list.pending);
  const isOpen = first !== undefined && first.key < 1 && first.entries.length + come.length <= blockSize;
  const blocks = isOpen
    ? [{ ...first, entries: [...come, ...first.entries] }, ...rest]
    : [{ key: Math.min(first?.key ?? 1, 1) - 1, entries: come }, ...list.blocks];
  return { ...list, blocks, pending: [] };
}

/** Puts rows of calls that are shown to those; `rest` is all others. Blocks in which nothing changes stay the same. */
function joinCalls(
  blocks: readonly TrailBlock[],
  rows: readonly TrailRow[],
): { blocks: readonly TrailBlock[]; rest: TrailRow[] } {
  const byCall = new Map<string, TrailRow[]>();
  for (const row of rows) {
    const call = callOf(row.event);
    if (call !== undefined) byCall.set(call, [...(byCall.get(call) ?? []), row]);
  }
  const joined = new Set<TrailRow>();
  const joinEntry = (entry: TrailEntry): TrailEntry => {
    const call = entry[0] && callOf(entry[0].event);
    const more = call === undefined ? undefined : byCall.get(call);
    if (call === undefined || more === undefined) return entry;
    byCall.delete(call);
    for (const row of more) joined.add(row);
    return [...entry, ...more].toSorted(byNewest);
  };
  if (byCall.size === 0) return { blocks, rest: [...rows] };
  const changed = blocks.map((block) => {
    const entries = block.entries.map(joinEntry);
    return entries.some((entry, place) => entry !== block.entries[place]) ? { ...block, entries } : block;
  });
  return { blocks: joined.size === 0 ? blocks : changed, rest: rows.filter((row) => !joined.has(row)) };
}

function byNewest({ event: one, ...at }: TrailRow, { event: other, ...before }: TrailRow): number {
  return Date.parse(other.at) - Date.parse(one.at) || before.strand - at.strand || before.sequence - at.sequence;
}
