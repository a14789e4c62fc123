import { expect, test } from "vitest";
import { barsOf, outcomeOf, peakText, sumsOf } from "./activity.ts";

const minutes = [
  { at: "2026-11-16T09:00:00Z", allowed: 3, denied: 1, failed: 0 },
  { at: "2026-11-16T09:01:00Z", allowed: 5, denied: 0, failed: 0 },
];

test("an hour is summed up", () => expect(sumsOf(minutes)).toEqual({ allowed: 8, denied: 1, failed: 0 }));

test("a bar says what it is of", () =>
  expect(barsOf(minutes, ["allowed", "denied"])[0]).toEqual({
    label: "09:00 UTC: 3 allowed, 1 denied",
    parts: [
      { tone: "good", count: 3 },
      { tone: "bad", count: 1 },
    ],
  }));

test("the picture has a text that says when most happened", () => {
  expect(peakText(minutes, "allowed")).toBe("most at 09:01 UTC with 5");
  expect(peakText(minutes, "failed")).toBe("none in any minute");
});

for (const [reason, outcome] of [
  ["no_matching_grant", "denied"],
  ["approval_required", "denied"],
  ["tool_failed", "failed"],
  ["tool_timeout", "failed"],
  ["internal_error", "failed"],
] as const) {
  test(`${reason} is found among what was ${outcome}`, () => expect(outcomeOf(reason)).toBe(outcome));
}
