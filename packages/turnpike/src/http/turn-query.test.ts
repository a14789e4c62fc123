import fc from "fast-check";
import { expect, test } from "vitest";
import { identifier } from "../../test/arbitraries.ts";
import { ServiceHttpError } from "./service-http-error.ts";
import { readCursor, readExecutionId, readTurnFilter, turnPath } from "./turn-query.ts";

test("every id that a URL can name is found at its path, byte for byte as a URL keeps it", () => {
  fc.assert(
    fc.property(identifier, (id) => {
      fc.pre(!/\p{Surrogate}/u.test(id) && id !== "." && id !== "..");
      const path = turnPath(id);
      expect(new URL(path, "http://service.test").pathname).toBe(path);
      expect(readExecutionId("/v1/turns/{executionId}", path)).toBe(id);
    }),
  );
});

test("what stands in a path is no query, and neither is what stands behind a #", () => {
  const headers = { get: () => null };
  expect(readCursor("/v1/turns/a&after=7&b/events", headers)).toBe(-1);
  expect(readCursor("/v1/turns/a/events#?after=7", headers)).toBe(-1);
  expect(readTurnFilter("/v1/turns/&limit=7&")).toMatchObject({ limit: 50 });
});

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
