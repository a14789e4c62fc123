import { expect, test } from "vitest";
import { appendPage, beginList, countRows, emptyList, receiveRows, showPending, type TrailList } from "./trail-list.ts";

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
const shown = ({ blocks }: TrailList) => blocks.flatMap((block) => block.rows.map(({ sequence }) => sequence));
const read = appendPage(appendPage(emptyList, rows(10, 9), "a"), rows(8, 7), undefined);

test("pages come behind each other, and an empty one is only a further place to go on from", () => {
  expect(shown(read)).toEqual([10, 9, 8, 7]);
  expect(appendPage(emptyList, [], "b")).toMatchObject({ blocks: [], cursor: "b" });
});

test("rows that come are held until they are shown, the newest first, each once", () => {
  const held = receiveRows(receiveRows(read, rows(11, 10)), rows(13, 12, 11));
  expect(shown(held)).toEqual([10, 9, 8, 7]);
  expect(held.pending.map(({ sequence }) => sequence)).toEqual([13, 12, 11]);
  expect(shown(showPending(held))).toEqual([13, 12, 11, 10, 9, 8, 7]);
});

test("what was read keeps its block and key while new rows come before it", () => {
  const first = showPending(receiveRows(read, rows(11)));
  const second = showPending(receiveRows(first, rows(12)));
  expect(second.blocks.slice(1)).toEqual(read.blocks);
  expect(second.blocks.map(({ key }) => key)).toEqual([0, 1, 2]);
  const full = showPending(receiveRows(second, rows(...Array.from({ length: 199 }, (_, place) => 20 + place))));
  expect(full.blocks.map(({ key }) => key)).toEqual([-1, 0, 1, 2]);
  expect(countRows(full)).toBe(205);
});

test("rows that come into an empty list get a block, and pages still go behind it", () => {
  const list = appendPage(showPending(receiveRows(emptyList, rows(5))), rows(4), undefined);
  expect(list.blocks.map(({ key }) => key)).toEqual([0, 1]);
});

test("more new rows than anybody reads are a gap, not memory", () => {
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
