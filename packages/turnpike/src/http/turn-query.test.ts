import fc from "fast-check";
import { expect, test } from "vitest";
import { identifier } from "../../test/arbitraries.ts";
import { ServiceHttpError } from "./service-http-error.ts";
import { readCursor, readExecutionId, readTurnFilter, turnPath } from "./turn-query.ts";

test("every id that a URL can name is found at its path, byte for byte as a URL has it", () => {
  fc.assert(
    fc.property(identifier, (id) => {
      fc.pre(!/\p{Surrogate}/u.test(id) && id !== "." && id !== "..");
      const path = turnPath(id);
      expect(new URL(path, "http://service.test").pathname).toBe(path);
      expect(readExecutionId("/v1/turns/{executionId}", path)).toBe(id);
    }),
  );
});

test("a part of the path is no query, and neither is what follows a #", () => {
  const headers = { get: () => null };
  expect(readCursor("/v1/turns/a&after=7&b/events", headers)).toBe(-1);
  expect(readCursor("/v1/turns/a/events#?after=7", headers)).toBe(-1);
  expect(readTurnFilter("/v1/turns/&limit=7&")).toMatchObject({ limit: 50 });
});

for (const text of [
  "",
  " 5",
  "5 ",
  "+5",
  "-0",
  "05",
  "00",
  "5.0",
  "5e0",
  "1e2",
  "0x10",
  "1_0",
  "٥",
  "9007199254740993",
]) {
  test(`${JSON.stringify(text)} is no number of a query or a header`, () => {
    const headers = { get: () => null };
    const limit = encodeURIComponent(text);
    expect(refusalOf(() => readTurnFilter(`/v1/turns?limit=${limit}`))).toMatch(/^400 invalid_request /);
    expect(refusalOf(() => readCursor(`/v1/turns/a/events?after=${limit}`, headers))).toMatch(/^400 invalid_request /);
    // A browser that has seen nothing sends no header, or an empty one.
    const seen = refusalOf(() => readCursor("/v1/turns/a/events", { get: () => text }));
    expect(seen).toMatch(text === "" ? /^none$/ : /^400 invalid_request /);
  });
}

test("whatever a query or a header says, it is read or refused with 400, and never repeated", () => {
  const secret = "s3cret";
  const value = fc.oneof(fc.string(), fc.constantFrom("-1", "0", "1", "200", "running,waiting", "%", "+"));
  fc.assert(
    fc.property(fc.constantFrom("status", "limit", "before", "after"), value, (name, text) => {
      const target = `/v1/turns?${name}=${text}${secret}`;
      const headers = { get: () => `${text}${secret}` };
      for (const read of [() => readTurnFilter(target), () => readCursor(target, headers)]) {
        expect(refusalOf(read)).toMatch(/^(none|400 invalid_request (?!.*s3cret))/);
      }
    }),
  );
});

/** What a caller is told; `none` when what they sent was read. */
function refusalOf(read: () => unknown): string {
  try {
    read();
    return "none";
  } catch (error) {
    if (!(error instanceof ServiceHttpError)) return String(error);
    return `${error.status} ${error.code} ${error.message}`;
  }
}
