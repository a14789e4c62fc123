import { expect, test } from "vitest";
import { heldRows } from "./held-rows.ts";

const row = (id: string, state: string) => ({ id, state });
const keyOf = ({ id }: { id: string }) => id;

test("a held list leaves its rows where they are, as they are now, and counts the new ones", () => {
  const shown = [row("b", "pending"), row("a", "pending")];
  const fresh = [row("d", "pending"), row("c", "pending"), row("a", "approved"), row("b", "pending")];
  expect(heldRows(shown, fresh, keyOf)).toEqual({ rows: [row("b", "pending"), row("a", "approved")], news: 2 });
});

test("a row that is gone stays in a held list, because the next one would move under the pointer", () => {
  expect(heldRows([row("b", "pending"), row("a", "pending")], [row("a", "pending")], keyOf)).toEqual({
    rows: [row("b", "pending"), row("a", "pending")],
    news: 0,
  });
});
