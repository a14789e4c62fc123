import { expect, test } from "vitest";
import { failureOf } from "./model-errors.ts";

for (const error of ["overloaded_error", 529, undefined, null, new TypeError("rate_limit")]) {
  test(`what is no error of a provider is a reply that cannot be used: ${String(error)}`, () => {
    const failure = { error: { code: "model_response_invalid", retryable: false }, remedy: "none" };
    expect(failureOf(error, false)).toMatchObject(failure);
  });
}
