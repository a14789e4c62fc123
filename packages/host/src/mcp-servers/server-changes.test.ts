import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { createServerChanges } from "./server-changes.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

function world() {
  const told: string[] = [];
  const changes = createServerChanges();
  const leave = changes.listen(
    ({ server, connection = "all" }, kind) => void told.push(`${server} ${connection} ${kind}`),
  );
  return { told, changes, leave };
}

test("a change is told at once, and those of the next second together at its end", () => {
  const { told, changes } = world();
  for (let time = 0; time < 100; time += 1) changes.tell({ server: "notes", connection: "" }, "tools");
  expect(told).toHaveLength(1);
  vi.advanceTimersByTime(999);
  expect(told).toHaveLength(1);
  vi.advanceTimersByTime(1);
  expect(told).toEqual(["notes  tools", "notes  tools"]);
  vi.advanceTimersByTime(60_000);
  expect(told).toHaveLength(2);
});

test("changes of another server, another connection or another list are told for themselves", () => {
  const { told, changes } = world();
  changes.tell({ server: "notes", connection: "alice" }, "tools");
  changes.tell({ server: "notes", connection: "bob" }, "tools");
  changes.tell({ server: "notes", connection: "alice" }, "prompts");
  changes.tell({ server: "mail" }, "tools");
  expect(told).toEqual(["notes alice tools", "notes bob tools", "notes alice prompts", "mail all tools"]);
});

test("who has left is told nothing more", () => {
  const { told, changes, leave } = world();
  leave();
  changes.tell({ server: "notes" }, "tools");
  expect(told).toEqual([]);
});
