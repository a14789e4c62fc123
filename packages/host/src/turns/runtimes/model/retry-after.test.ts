import { describe, expect, test } from "vitest";
import { backoffMs } from "./ask-models.ts";
import { retryAfterMs } from "./retry-after.ts";

const now = Date.parse("2026-01-01T00:00:00Z");
const details = [{ "@type": "type.googleapis.com/google.rpc.Help" }, { retryDelay: "36.5s" }];

describe("how long a provider wants to be left alone is read from", () => {
  const rows: { name: string; headers: Record<string, string>; body?: unknown; ms: number | undefined }[] = [
    { name: "nothing", headers: {}, ms: undefined },
    { name: "seconds", headers: { "retry-after": "7" }, ms: 7_000 },
    { name: "no seconds", headers: { "retry-after": "0" }, ms: 0 },
    { name: "parts of a second", headers: { "retry-after": "0.25" }, ms: 250 },
    { name: "a date", headers: { "retry-after": "Thu, 01 Jan 2026 00:00:30 GMT" }, ms: 30_000 },
    { name: "a date in the past", headers: { "retry-after": "Wed, 31 Dec 2025 23:59:00 GMT" }, ms: 0 },
    { name: "milliseconds, before seconds", headers: { "retry-after-ms": "15", "retry-after": "7" }, ms: 15 },
    { name: "the details of an error of google", headers: {}, body: { error: { details } }, ms: 36_500 },
    { name: "no word", headers: { "retry-after": "soon" }, ms: undefined },
    { name: "no negative number", headers: { "retry-after": "-5" }, ms: undefined },
    { name: "no number of another form", headers: { "retry-after": "1e9" }, ms: undefined },
    {
      name: "no details of another form",
      headers: {},
      body: { error: { details: [null, { retryDelay: 5 }] } },
      ms: undefined,
    },
    {
      name: "no delay in another unit",
      headers: {},
      body: { error: { details: [{ retryDelay: "5m" }] } },
      ms: undefined,
    },
    { name: "no error of another form", headers: {}, body: { error: null }, ms: undefined },
  ];
  for (const { name, headers, body, ms } of rows) {
    test(name, () => {
      expect(retryAfterMs(headers, body, now)).toBe(ms);
    });
  }
});

test("without a word of the provider each wait is twice as long, up to a bound, and at least half of that", () => {
  const attempts = [1, 2, 3, 4, 5, 6, 10];
  expect(attempts.map((attempt) => backoffMs(attempt, 0))).toStrictEqual([
    500, 1_000, 2_000, 4_000, 8_000, 8_000, 8_000,
  ]);
  expect(attempts.map((attempt) => backoffMs(attempt, 1))).toStrictEqual([250, 500, 1_000, 2_000, 4_000, 4_000, 4_000]);
});
