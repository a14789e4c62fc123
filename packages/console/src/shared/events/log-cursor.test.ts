import { expect, test } from "vitest";
import { cursorBehind, earlierCursor, isBehind, isHeard } from "./log-cursor.ts";

for (const { cursor, other, behind, earlier } of [
  { cursor: "0.5", other: "0.5", behind: false, earlier: "0.5" },
  { cursor: "0.5", other: "0.6", behind: true, earlier: "0.5" },
  { cursor: "0.10", other: "0.9", behind: false, earlier: "0.9" },
  { cursor: "0.5,1.2", other: "0.5,1.3", behind: true, earlier: "0.5,1.2" },
  { cursor: "0.7,1.2", other: "0.5,1.3", behind: true, earlier: "0.5,1.2" },
  // A strand that began after one of them is told from its first row.
  { cursor: "0.5", other: "0.5,1.3", behind: true, earlier: "0.5" },
  { cursor: "0.5,1.3", other: "0.5", behind: false, earlier: "0.5" },
  { cursor: "1.3", other: "2.4", behind: true, earlier: "0.0" },
]) {
  test(`a reader at ${cursor} ${behind ? "misses a row" : "misses nothing"} up to ${other}; both begin at ${earlier}`, () => {
    expect([isBehind(cursor, other), earlierCursor(cursor, other)]).toEqual([behind, earlier]);
  });
}

test("a row is heard once, and moves its own strand alone", () => {
  expect([isHeard("0.5,1.2", 1, 2), isHeard("0.5,1.2", 1, 3), isHeard("0.5", 7, 1)]).toEqual([true, false, false]);
  expect([cursorBehind("0.5,1.2", 1, 3), cursorBehind("0.5", 2, 1)]).toEqual(["0.5,1.3", "0.5,2.1"]);
});
