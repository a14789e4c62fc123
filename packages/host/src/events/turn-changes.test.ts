import { expect, test } from "vitest";
import type { LiveTurnRow } from "../turns/index.ts";
import { compareTurns, missingFrom } from "./turn-changes.ts";

function row(id: string, status: string, events = 0): LiveTurnRow {
  return { id, status, events, heading: "{}", updated_at: "2026-01-01T12:00:00.000Z" };
}

test("a turn that went from one state to another between two lists is searched for, and told of once", () => {
  const { seen } = compareTurns(new Map(), [row("t1", "waiting")], []);
  // It was neither in the list of those that run, nor later in that of those that wait.
  expect(missingFrom(seen, [])).toEqual(["t1"]);
  const moved = compareTurns(seen, [], [row("t1", "running")]);
  expect(moved.changed.map(({ id }) => id)).toEqual(["t1"]);
  expect(compareTurns(moved.seen, [row("t1", "running")], []).changed).toEqual([]);
});

test("a turn that has ended and left the list is told of once, and forgotten", () => {
  const { seen } = compareTurns(new Map(), [row("t1", "running")], []);
  const ended = compareTurns(seen, [], [row("t1", "succeeded", 3)]);
  expect(ended.changed).toEqual([row("t1", "succeeded", 3)]);
  expect(missingFrom(ended.seen, [])).toEqual([]);
});
