import { callOf, foldRows, type LogEntry } from "./fold-calls.ts";
import { keyOf, type LogRow } from "./log-filter.ts";

/** Entries that are drawn, or left out of sight, together. A block stays in its place when others come before or behind it. */
export interface LogBlock {
  key: number;
  entries: readonly LogEntry[];
}

/** The part of an audit log that was read, the newest row first. */
export interface LogList {
  blocks: readonly LogBlock[];
  /** Where the next page begins; undefined at the end. */
  cursor: string | undefined;
  /** Rows that have come since, the newest first, and are not shown yet. */
  pending: readonly LogRow[];
  /** Whether more came than are held: showing them means reading the list again. */
  isGap: boolean;
}

/** How many entries a block of new ones takes at most. */
const blockSize = 200;
const recentBlocks = 5;
/** How many new rows are held for an operator who reads older ones, and how many are shown before the list begins anew. */
const [maxPending, maxShown] = [1000, 20_000];

export const emptyList: LogList = { blocks: [], cursor: undefined, pending: [], isGap: false };

/** How many lines there are: a call is one, whatever the number of its rows. */
export function countEntries({ blocks }: Pick<LogList, "blocks">): number {
  return blocks.reduce((sum, { entries }) => sum + entries.length, 0);
}

/** Whether a row is among those that are shown. */
export function hasRow({ blocks }: Pick<LogList, "blocks">, key: string): boolean {
  return blocks.some(({ entries }) => entries.some((entry) => entry.some((row) => keyOf(row) === key)));
}

/** A list that is read from its beginning. Rows that came while it was read stay, unless they are in it. */
export function beginList(before: LogList, rows: readonly LogRow[], cursor: string | undefined): LogList {
  const [newest] = rows;
  const come = [...before.pending, ...before.blocks.flatMap((block) => block.entries.flat())];
  const since = come.filter((row) => newest === undefined || byNewest(row, newest) < 0);
  return receiveRows(appendPage(emptyList, rows, cursor), since);
}

/** Adds an older page behind what is there. */
export function appendPage(list: LogList, rows: readonly LogRow[], cursor: string | undefined): LogList {
  const key = (list.blocks.at(-1)?.key ?? 0) + 1;
  const { blocks, rest } = joinCalls(list.blocks, rows);
  const entries = foldRows(rest);
  return { ...list, blocks: entries.length === 0 ? blocks : [...blocks, { key, entries }], cursor };
}

/** Takes rows that have just come, in any order, without those that are there already. */
export function receiveRows(list: LogList, come: readonly LogRow[]): LogList {
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
  // The outcome of a shown call is added to the line of the call, which does not move.
  const { blocks, rest } = joinCalls(list.blocks, fresh);
  const pending = [...rest, ...list.pending].toSorted(byNewest);
  const isGap = list.isGap || pending.length > maxPending || pending.length + countEntries(list) > maxShown;
  return { ...list, blocks, pending: isGap ? pending.slice(0, maxPending) : pending, isGap };
}

/** Puts the rows that have come on top. */
export function showPending(list: LogList): LogList {
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

/** Adds rows to the shown calls that they belong to; `rest` are all other rows. Blocks without changes stay the same objects. */
function joinCalls(
  blocks: readonly LogBlock[],
  rows: readonly LogRow[],
): { blocks: readonly LogBlock[]; rest: LogRow[] } {
  const byCall = new Map<string, LogRow[]>();
  for (const row of rows) {
    const call = callOf(row.event);
    if (call !== undefined) byCall.set(call, [...(byCall.get(call) ?? []), row]);
  }
  const joined = new Set<LogRow>();
  const joinEntry = (entry: LogEntry): LogEntry => {
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

function byNewest({ event: one, ...at }: LogRow, { event: other, ...before }: LogRow): number {
  return Date.parse(other.at) - Date.parse(one.at) || before.strand - at.strand || before.sequence - at.sequence;
}
