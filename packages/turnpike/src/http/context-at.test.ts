import { describe, expect, test } from "vitest";
import { bob, contextOf, now } from "../../test/deployment.ts";
import { acceptContext, contextAt } from "./handler.ts";

const later = new Date("2026-02-03T04:05:06.789Z");
const { authority: _authority, ...withoutAuthority } = contextOf();

describe("the context of another request of the same caller", () => {
  for (const [name, given] of [
    ["with authority", contextOf()],
    ["without authority", withoutAuthority],
    ["of an execution", contextOf({ executionId: "execution-1" })],
    ["tried by an operator", contextOf({ triedBy: { actor: bob, credential: "key-1" } })],
    ["asked by another person", contextOf({ askedBy: { actor: bob, credential: "key-2" } })],
    ["with a credential", contextOf({ credential: "key-3" })],
  ] as const) {
    test(`has everything of the first but its instant and its trace: ${name}`, () => {
      const accepted = acceptContext(given, "optional");
      const context = contextAt(accepted, later, "trace-2");
      expect(context).toEqual({ ...given, now: later.toISOString(), traceId: "trace-2" });
      expect(Object.isFrozen(context)).toBe(true);
      expect(accepted.now).toBe(now);
    });
  }

  test("is known as accepted from there on: it is not read again", () => {
    const context = contextAt(acceptContext(contextOf(), "required"), later, "trace-2");
    expect(acceptContext(context, "required")).toBe(context);
  });

  test("is checked whole when the first was not accepted", () => {
    const given = contextOf();
    const context = contextAt(given, later, "trace-2");
    given.enabledToolNamespaces.push("later");
    expect(context.enabledToolNamespaces).toEqual(["files"]);
    expect(() => contextAt({ ...contextOf(), purpose: "" }, later, "trace-2")).toThrow(
      "No valid access context could be resolved.",
    );
  });

  test("is refused for a trace that is none, and for a clock that has no time", () => {
    const accepted = acceptContext(contextOf(), "optional");
    expect(() => contextAt(accepted, later, "")).toThrow("No valid access context could be resolved.");
    expect(() => contextAt(accepted, new Date(Number.NaN), "trace-2")).toThrow(RangeError);
  });
});
