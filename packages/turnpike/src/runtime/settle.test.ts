import { describe, expect, test } from "vitest";
import { runAgent } from "../../test/deployment.ts";
import { endWith, readEscalationInput, readOutcome, terminalEvents, withTruthfulRetry, type Ending } from "./settle.ts";

const nonsense = {
  kind: "ending",
  ending: {
    status: "failed",
    error: {
      code: "invalid_runtime_outcome",
      message: "The runtime ended with something that is no outcome.",
      retryable: false,
    },
  },
};
const error = { code: "mine", message: "Mine.", details: { page: 1 }, retryable: true };
const ask = { capabilities: [runAgent], constraints: { maxUses: 1 }, metadata: { note: "please" } };

const trap = (): never => {
  throw new Error("An outcome that cannot be read.");
};
const throwing = new Proxy({}, { get: trap, getPrototypeOf: trap, ownKeys: trap });

describe("a plugin's outcome", () => {
  const rows: { name: string; outcome: unknown; read: unknown }[] = [
    {
      name: "complete",
      outcome: { type: "complete", output: [1] },
      read: { kind: "ending", ending: { status: "succeeded", output: [1] } },
    },
    {
      name: "complete with null",
      outcome: { type: "complete", output: null },
      read: { kind: "ending", ending: { status: "succeeded", output: null } },
    },
    {
      name: "complete with metadata",
      outcome: { type: "complete", output: 1, metadata: { cost: 2 } },
      read: { kind: "ending", ending: { status: "succeeded", output: 1, metadata: { cost: 2 } } },
    },
    { name: "fail", outcome: { type: "fail", error }, read: { kind: "ending", ending: { status: "failed", error } } },
    {
      name: "fail with metadata",
      outcome: { type: "fail", error, metadata: { cost: 2 } },
      read: { kind: "ending", ending: { status: "failed", error, metadata: { cost: 2 } } },
    },
    {
      name: "escalate",
      outcome: { type: "escalate", reason: "May I?" },
      read: { kind: "escalate", input: { reason: "May I?" } },
    },
    {
      name: "escalate with an ask and metadata",
      outcome: { type: "escalate", reason: "May I?", requestedAuthority: ask, metadata: { cost: 2 } },
      read: { kind: "escalate", input: { reason: "May I?", requestedAuthority: ask }, metadata: { cost: 2 } },
    },
    {
      name: "an outcome with keys of its own, which say nothing",
      outcome: { type: "complete", output: 1, status: "denied", escalation: {} },
      read: { kind: "ending", ending: { status: "succeeded", output: 1 } },
    },
    { name: "one that throws when it is read", outcome: throwing, read: nonsense },
    { name: "an output that throws", outcome: { type: "complete", output: { deep: [throwing] } }, read: nonsense },
    { name: "an error that throws", outcome: { type: "fail", error: throwing }, read: nonsense },
    {
      name: "an ask that throws",
      outcome: { type: "escalate", reason: "x", requestedAuthority: throwing },
      read: nonsense,
    },
    { name: "undefined", outcome: undefined, read: nonsense },
    { name: "a function", outcome: () => ({ type: "complete", output: 1 }), read: nonsense },
    { name: "an array", outcome: ["complete"], read: nonsense },
    { name: "no type", outcome: { output: 1 }, read: nonsense },
    { name: "a type of the wire that is no outcome", outcome: { type: "cancelled" }, read: nonsense },
    { name: "an output of undefined", outcome: { type: "complete", output: undefined }, read: nonsense },
    { name: "an output that is a date", outcome: { type: "complete", output: new Date(0) }, read: nonsense },
    {
      name: "an output with a __proto__ key",
      outcome: { type: "complete", output: JSON.parse('{"__proto__":1}') as unknown },
      read: nonsense,
    },
    {
      name: "metadata with a __proto__ key",
      outcome: { type: "complete", output: 1, metadata: JSON.parse('{"__proto__":1}') as unknown },
      read: nonsense,
    },
    { name: "metadata of null", outcome: { type: "complete", output: 1, metadata: null }, read: nonsense },
    { name: "an empty code", outcome: { type: "fail", error: { code: "", message: "x" } }, read: nonsense },
    { name: "an empty reason", outcome: { type: "escalate", reason: "" }, read: nonsense },
    { name: "a reason of 4097 characters", outcome: { type: "escalate", reason: "x".repeat(4097) }, read: nonsense },
    {
      name: "an ask for no action",
      outcome: { type: "escalate", reason: "x", requestedAuthority: { capabilities: [{ ...runAgent, actions: [] }] } },
      read: nonsense,
    },
  ];
  for (const { name, outcome, read } of rows) {
    test(`is read: ${name}`, () => {
      expect(readOutcome(outcome)).toEqual(read);
    });
  }

  test("is copied and frozen: what the plugin changes later changes nothing", () => {
    const output = { list: [1] };
    const read = readOutcome({ type: "complete", output });
    output.list.push(2);
    expect(read).toStrictEqual({ kind: "ending", ending: { status: "succeeded", output: { list: [1] } } });
  });
});

test("of an ask only capabilities, constraints and metadata are used, whichever requester it names", () => {
  const claims = {
    id: "x",
    namespaceId: "elsewhere",
    owner: "bob",
    requester: "bob",
    purpose: "spy",
    requestedAt: "1999",
    grants: [],
  };
  expect(readEscalationInput({ reason: "May I?", requestedAuthority: { ...ask, ...claims } })).toStrictEqual({
    reason: "May I?",
    requestedAuthority: ask,
  });
});

test("the terminal event of each ending is the wire's", () => {
  expect(terminalEvents).toStrictEqual({
    succeeded: "turn.completed",
    denied: "turn.denied",
    failed: "turn.failed",
    cancelled: "turn.cancelled",
    escalated: "turn.escalated",
  });
});

test("an ending of our own has the code's words and the code's retry", () => {
  expect(endWith("cancelled", "turn_cancelled")).toStrictEqual({
    status: "cancelled",
    error: { code: "turn_cancelled", message: "The turn reached its deadline or was cancelled.", retryable: true },
  });
  expect(endWith("denied", "actor_mismatch")).toMatchObject({ status: "denied", error: { retryable: false } });
});

describe("a retry is never promised after an effect", () => {
  const mine = { code: "mine", message: "x" };
  const rows: { name: string; ending: Ending; after: Ending }[] = [
    {
      name: "by a failure that promises one",
      ending: { status: "failed", error },
      after: { status: "failed", error: { ...error, retryable: false } },
    },
    {
      name: "by a cancelled turn",
      ending: { status: "cancelled", error: { ...mine, retryable: true } },
      after: { status: "cancelled", error: { ...mine, retryable: false } },
    },
    {
      name: "by a failure that says nothing",
      ending: { status: "failed", error: mine },
      after: { status: "failed", error: { ...mine, retryable: false } },
    },
    {
      name: "and a success stays as it is",
      ending: { status: "succeeded", output: 1 },
      after: { status: "succeeded", output: 1 },
    },
  ];
  for (const { name, ending, after } of rows) {
    test(name, () => {
      expect(withTruthfulRetry(ending, false)).toStrictEqual(ending);
      expect(withTruthfulRetry(ending, true)).toStrictEqual(after);
    });
  }
});
