import { expect, test } from "vitest";
import { budgetWindow } from "./budget-window.ts";

const at = (text: string): number => Date.parse(text);

for (const [per, instant, start, end] of [
  ["hour", "2026-01-01T12:59:59.999Z", "2026-01-01T12:00:00Z", "2026-01-01T13:00:00Z"],
  ["hour", "2026-01-01T13:00:00Z", "2026-01-01T13:00:00Z", "2026-01-01T14:00:00Z"],
  ["day", "2026-03-29T23:59:59.999Z", "2026-03-29T00:00:00Z", "2026-03-30T00:00:00Z"],
  ["day", "1969-12-31T23:00:00Z", "1969-12-31T00:00:00Z", "1970-01-01T00:00:00Z"],
  ["week", "2026-01-04T23:59:59.999Z", "2025-12-29T00:00:00Z", "2026-01-05T00:00:00Z"],
  ["week", "2026-01-05T00:00:00Z", "2026-01-05T00:00:00Z", "2026-01-12T00:00:00Z"],
  ["month", "2026-01-31T23:59:59.999Z", "2026-01-01T00:00:00Z", "2026-02-01T00:00:00Z"],
  ["month", "2028-02-29T12:00:00Z", "2028-02-01T00:00:00Z", "2028-03-01T00:00:00Z"],
  ["month", "2026-12-31T23:59:59Z", "2026-12-01T00:00:00Z", "2027-01-01T00:00:00Z"],
] as const) {
  test(`the ${per} of ${instant} begins at ${start}`, () => {
    expect(budgetWindow(per, at(instant))).toEqual({ start: at(start), end: at(end) });
  });
}

test("of a total there is one window, which does not end", () => {
  expect([
    budgetWindow("total", at("1969-01-01T00:00:00Z")),
    budgetWindow("total", at("2099-01-01T00:00:00Z")),
  ]).toEqual([{ start: 0 }, { start: 0 }]);
});
