import { expect, test } from "vitest";
import type { LogRow } from "./log-filter.ts";
import {
  appendPage,
  beginList,
  countEntries,
  emptyList,
  hasRow,
  receiveRows,
  showPending,
  type LogList,
} from "./log-list.ts";

function row(sequence: number) {
  const at = new Date(Date.UTC(2026, 10, 16) + sequence * 1000).toISOString();
  const who = { kind: "human", userId: "alice" } as const;
  const event = { id: `e${sequence}`, version: 1, type: "reach.read", outcome: "allowed", at } as const;
  return {
    strand: 0,
    sequence,
    event: { ...event, traceId: "t", namespaceId: "demo", actor: who, owner: who, purpose: "p" },
  };
}
const rows = (...sequences: number[]) => sequences.map(row);
const shown = ({ blocks }: LogList) => blocks.flatMap((block) => block.entries.map((entry) => entry[0]?.sequence));
const read = appendPage(appendPage(emptyList, rows(10, 9), "a"), rows(8, 7), undefined);

test("pages come behind each other, and an empty one is only a further place to continue from", () => {
  expect(shown(read)).toEqual([10, 9, 8, 7]);
  expect(appendPage(emptyList, [], "b")).toMatchObject({ blocks: [], cursor: "b" });
});

test("a row is among those that are shown, or not yet", () => {
  const held = receiveRows(read, rows(11));
  expect(["0:10", "0:7", "0:11", "1:10"].map((key) => hasRow(held, key))).toEqual([true, true, false, false]);
});

test("rows that come are held until they are shown, the newest first, each once", () => {
  const held = receiveRows(receiveRows(read, rows(11, 10)), rows(13, 12, 11));
  expect(shown(held)).toEqual([10, 9, 8, 7]);
  expect(held.pending.map(({ sequence }) => sequence)).toEqual([13, 12, 11]);
  expect(shown(showPending(held))).toEqual([13, 12, 11, 10, 9, 8, 7]);
});

test("what was read stays in its block and key while new rows come before it", () => {
  const first = showPending(receiveRows(read, rows(11)));
  const second = showPending(receiveRows(first, rows(12)));
  expect(second.blocks.slice(1)).toEqual(read.blocks);
  expect(second.blocks.map(({ key }) => key)).toEqual([0, 1, 2]);
  const full = showPending(receiveRows(second, rows(...Array.from({ length: 199 }, (_, place) => 20 + place))));
  expect(full.blocks.map(({ key }) => key)).toEqual([-1, 0, 1, 2]);
  expect(countEntries(full)).toBe(205);
});

test("rows that come into an empty list get a block, and pages still go behind it", () => {
  const list = appendPage(showPending(receiveRows(emptyList, rows(5))), rows(4), undefined);
  expect(list.blocks.map(({ key }) => key)).toEqual([0, 1]);
});

test("more new rows than anyone reads are a gap, not memory", () => {
  const flood = receiveRows(read, rows(...Array.from({ length: 1001 }, (_, place) => 100 + place)));
  expect(flood).toMatchObject({ isGap: true });
  expect(flood.pending).toHaveLength(1000);
  expect(showPending(flood)).toBe(flood);
});

test("nothing new changes nothing", () => {
  expect(receiveRows(read, rows(10))).toBe(read);
  expect(showPending(read)).toBe(read);
});

test("rows that came while the list was read again stay, and older ones do not become new", () => {
  const before = showPending(receiveRows(receiveRows(read, rows(11)), rows(12)));
  const again = beginList(receiveRows(before, rows(14)), rows(12, 11, 10), "c");
  expect(shown(again)).toEqual([12, 11, 10]);
  expect(again.pending.map(({ sequence }) => sequence)).toEqual([14]);
  expect(beginList(emptyList, [], undefined)).toEqual(emptyList);
});

/** A row of a call: what was decided, or what became of it. */
function callRow(sequence: number, call: string, changes: Partial<LogRow["event"]> = {}) {
  const { event, ...place } = row(sequence);
  return {
    ...place,
    event: { ...event, type: "tool.invoked", operationId: call, ...changes } satisfies LogRow["event"],
  };
}
const entriesOf = ({ blocks }: LogList) =>
  blocks.flatMap(({ entries }) => entries.map((entry) => entry.map(({ sequence }) => sequence)));
const decided = { type: "authorization.checked" } as const;

test("a call is one line: its outcome, then its decision, where its outcome is", () => {
  const list = appendPage(emptyList, [callRow(4, "a"), callRow(3, "b"), callRow(2, "a", decided), row(1)], undefined);
  expect(entriesOf(list)).toEqual([[4, 2], [3], [1]]);
  expect(countEntries(list)).toBe(3);
});

test("the same id of another actor, or in another trace, is another call", () => {
  const bob = { actor: { kind: "human", userId: "bob" } } as const;
  const rowsOf = [callRow(3, "a"), callRow(2, "a", bob), callRow(1, "a", { traceId: "other" })];
  expect(entriesOf(appendPage(emptyList, rowsOf, undefined))).toEqual([[3], [2], [1]]);
});

test("a decision on the next page joins its call on the one before", () => {
  const first = appendPage(emptyList, [callRow(9, "a"), callRow(8, "b")], "more");
  const both = appendPage(first, [callRow(7, "b", decided), callRow(6, "a", decided), row(5)], undefined);
  expect(entriesOf(both)).toEqual([[9, 6], [8, 7], [5]]);
});

test("what became of a call that is shown joins its line at once, and is no news", () => {
  const begun = appendPage(emptyList, [row(3), callRow(2, "a", decided), row(1)], undefined);
  const ended = receiveRows(begun, [callRow(4, "a")]);
  expect(entriesOf(ended)).toEqual([[3], [4, 2], [1]]);
  expect(ended.pending).toEqual([]);
  // The stream and a page can bring the same row.
  expect(receiveRows(ended, [callRow(4, "a")])).toBe(ended);
});

test("a call that began and ended while the page was hidden is one line when it is shown", () => {
  const list = showPending(receiveRows(receiveRows(read, [callRow(11, "a", decided)]), [callRow(12, "a"), row(13)]));
  expect(entriesOf(list)).toEqual([[13], [12, 11], [10], [9], [8], [7]]);
});

test("an operator's change is one line, and two changes of one request are two", () => {
  const change = { type: "operator.changed", operationId: undefined, action: "grant.revoke" } as const;
  const rowsOf = ["g1", "g2", "g1", "g2"].map((grantId, place) => callRow(9 - place, "", { ...change, grantId }));
  expect(entriesOf(appendPage(emptyList, rowsOf as LogRow[], undefined))).toEqual([
    [9, 7],
    [8, 6],
  ]);
});

test("a list that is read again shows its calls whole", () => {
  const before = showPending(receiveRows(read, [callRow(12, "a"), callRow(11, "a", decided)]));
  const again = beginList(before, [callRow(12, "a"), callRow(11, "a", decided), row(10)], undefined);
  expect(entriesOf(again)).toEqual([[12, 11], [10]]);
});
