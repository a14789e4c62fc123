import { expect, test } from "vitest";
import { contextOf, later, untyped } from "../../test/deployment.ts";
import { acceptContext, acceptDiscovery, contextAt } from "./context.ts";

function accepted() {
  const context = acceptContext(contextOf());
  if (context === undefined) throw new Error("the context does not fit");
  return context;
}

test("a context at another instant differs in nothing else, and is accepted and frozen like the first", () => {
  const context = accepted();
  const moved = contextAt(context, later);
  expect(moved).toStrictEqual({ ...contextOf(), now: later });
  expect(acceptContext(moved)).toBe(moved);
  expect(Object.isFrozen(moved)).toBe(true);
  expect(context).toStrictEqual(contextOf());
});

test("a context at its own instant is itself", () => {
  const context = accepted();
  expect(contextAt(context, context.now)).toBe(context);
});

for (const now of ["", "noon", "2026-02-01T10:00:00", untyped<string>(undefined), untyped<string>(1)]) {
  test(`a clock that says ${JSON.stringify(now)} gives no context`, () => {
    expect(() => contextAt(accepted(), now)).toThrow("The clock of the turn gave no RFC 3339 time.");
  });
}

test("a context without authority is enough to read, and not to act", () => {
  const { authority: _none, ...open } = contextOf();
  expect(acceptDiscovery(open)).toStrictEqual(open);
  expect(acceptContext(untyped(open))).toBeUndefined();
});
