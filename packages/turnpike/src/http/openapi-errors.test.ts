import { expect, test } from "vitest";
import { describeErrors } from "./openapi-errors.ts";

const common = {
  "x-request-id": { $ref: "#/components/headers/RequestId" },
  "cache-control": { $ref: "#/components/headers/CacheControl" },
};

test("codes of one status share a response, which names them", () => {
  const errors = describeErrors();
  expect(errors.of(["replay_pending", "not_found", "replay_conflict"])).toEqual({
    404: { $ref: "#/components/responses/NotFound" },
    409: { $ref: "#/components/responses/ReplayConflictOrReplayPending" },
  });
  expect(errors.components()).toMatchObject({
    NotFound: { headers: common, "x-error-codes": ["not_found"] },
    ReplayConflictOrReplayPending: {
      headers: { ...common, "retry-after": { $ref: "#/components/headers/RetryAfter" } },
      "x-error-codes": ["replay_conflict", "replay_pending"],
    },
  });
});

test("the same codes are described once, in whatever order and however often they are named", () => {
  const errors = describeErrors();
  const first = errors.of(["replay_pending", "replay_conflict"]);
  expect(errors.of(["replay_conflict", "replay_pending", "replay_conflict"])).toEqual(first);
  expect(Object.keys(errors.components())).toEqual(["ReplayConflictOrReplayPending"]);
});

test("a code at another status than its own has a response of its own", () => {
  const errors = describeErrors();
  const elsewhere = [
    { status: 431, code: "invalid_request" },
    { status: 503, code: "usage_store_unavailable" },
  ] as const;
  expect(errors.of(["invalid_request", ...elsewhere])).toEqual({
    400: { $ref: "#/components/responses/InvalidRequest" },
    431: { $ref: "#/components/responses/InvalidRequest431" },
    503: { $ref: "#/components/responses/UsageStoreUnavailable503" },
  });
});

test("a host's code has an example, its own headers, and those of all", () => {
  const trace = { "x-trace-id": { $ref: "#/components/headers/TraceId" } };
  const challenge = { "www-authenticate": { $ref: "#/components/headers/WwwAuthenticate" } };
  const errors = describeErrors({ prefix: "Host", headers: trace, headersOf: { unauthenticated: challenge } });
  expect(errors.of(["unauthenticated"])).toEqual({ 401: { $ref: "#/components/responses/HostUnauthenticated" } });
  expect(errors.components()["HostUnauthenticated"]).toMatchObject({
    headers: { ...common, ...trace, ...challenge },
    content: {
      "application/json": {
        examples: {
          unauthenticated: {
            value: {
              error: {
                code: "unauthenticated",
                message: "No valid credential came with the request.",
                requestId: "request-1",
              },
            },
          },
        },
      },
    },
  });
});

test("a code that no request is answered with cannot be described", () => {
  expect(() => describeErrors().of(["no_matching_grant"])).toThrow("No request is answered with no_matching_grant.");
});
