import { expect, test } from "vitest";
import { alice, assistant } from "../../test/records.ts";
import { readCursor, writeCursor } from "./inbox-cursor.ts";

const inbox = { namespaceId: "tenant-1", receiver: alice };

for (const sequence of [0, 1, 42, 999_999_999_999_999]) {
  test(`the cursor at ${sequence} is read back`, () => {
    expect(readCursor(inbox, writeCursor(inbox, sequence))).toBe(sequence);
  });
}

const good = writeCursor(inbox, 42);
const mark = good.slice(3);

for (const row of [
  { name: "nothing", cursor: "" },
  { name: "a number alone", cursor: "42" },
  { name: "a mark alone", cursor: mark },
  { name: "no number", cursor: `NaN-${mark}` },
  { name: "a negative number", cursor: `-1-${mark}` },
  { name: "a fraction", cursor: `1.5-${mark}` },
  { name: "a number with a leading zero", cursor: `042-${mark}` },
  { name: "a number that is too large to count with", cursor: `99999999999999999-${mark}` },
  { name: "something behind the mark", cursor: `${good}0` },
  { name: "a line break behind the mark", cursor: `${good}\n` },
  { name: "the cursor of another receiver", cursor: writeCursor({ ...inbox, receiver: assistant }, 42) },
  { name: "the cursor of another tenant", cursor: writeCursor({ ...inbox, namespaceId: "tenant-2" }, 42) },
]) {
  test(`${row.name} is no cursor`, () => {
    expect(readCursor(inbox, row.cursor)).toBeUndefined();
  });
}
