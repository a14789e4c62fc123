import { expect, test } from "vitest";
import { failureOf, failureOfEnd } from "./model-errors.ts";

for (const error of ["overloaded_error", 529, undefined, null, new TypeError("rate_limit")]) {
  test(`what is no error of a provider is a reply that cannot be used: ${String(error)}`, () => {
    const failure = { error: { code: "model_response_invalid", retryable: false }, remedy: "none" };
    expect(failureOf(error, false)).toMatchObject(failure);
  });
}

test("a reply that the provider ended with an error cannot be used", () => {
  const end = {
    reason: "error",
    raw: "error",
    hasBegun: true,
    hasText: true,
    hasCalls: false,
    isIncomplete: false,
  } as const;
  expect(failureOfEnd(end)).toMatchObject({ code: "model_response_invalid" });
  expect(failureOfEnd({ ...end, reason: "stop" })).toBeUndefined();
});
