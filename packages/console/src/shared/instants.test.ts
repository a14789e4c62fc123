import { expect, test } from "vitest";
import { endOf, fieldInstant, instantOf } from "./instants.ts";

const now = Date.parse("2026-11-16T09:00:00.000Z");

test("an instant goes into the field that shows it by the operator's clock, and out of it again", () => {
  const at = "2026-11-16T09:30:00.000Z";
  expect(instantOf(fieldInstant(at))).toBe(at);
  expect([fieldInstant(undefined), fieldInstant(""), fieldInstant("x"), instantOf("")]).toEqual([
    "",
    "",
    "",
    undefined,
  ]);
});

test("an end is a span from now or a time, and nothing else", () => {
  expect(endOf(" 30m ", now)).toBe("2026-11-16T09:30:00.000Z");
  expect(endOf("7d", now)).toBe("2026-11-23T09:00:00.000Z");
  expect(endOf("2026-12-01T00:00:00Z", now)).toBe("2026-12-01T00:00:00.000Z");
  for (const text of ["", "0h", "5", "1w", "tomorrow", "2026", "2026-13-45T00:00:00Z"])
    expect(endOf(text, now)).toBeUndefined();
});
