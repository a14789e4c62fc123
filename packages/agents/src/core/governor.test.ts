import { createGate, type Gate } from "turnpike/client";
import type { ActOutcome, ActRequest, ActState } from "turnpike/contracts";
import { describe, expect, test } from "vitest";
import { createGovernor, type AgentCall, type GovernOptions } from "./governor.ts";

const call: AgentCall = { tool: "send_mail", id: "call-1", arguments: { to: "bob" } };
const needs = { send_mail: "send mail/$to" };

/** A gate that answers so, one request after the other; the last answer again and again. */
function gateOf(...answers: (ActState["status"] | Error)[]) {
  const begun: ActRequest[] = [];
  const finished: ActOutcome[] = [];
  const gate: Gate = createGate({
    async begin(request) {
      begun.push(request);
      const answer = answers.length > 1 ? answers.shift() : answers[0];
      if (answer instanceof Error) throw answer;
      return { id: request.id, ...states[answer ?? "allowed"] } as ActState;
    },
    async finish(id, outcome) {
      finished.push(outcome);
      return { status: "failed", id, completedAt: "2026-01-01T12:00:00Z" };
    },
  });
  return { gate, begun, finished };
}

const states = {
  allowed: { status: "allowed", grants: ["grant-1"] },
  denied: { status: "denied", error: { code: "no_matching_grant", message: "No grant covers the act." } },
  waiting: { status: "waiting", escalationId: "escalation-1" },
  succeeded: { status: "succeeded", completedAt: "2026-01-01T12:00:00Z", output: 7 },
  failed: { status: "failed", completedAt: "2026-01-01T12:00:00Z" },
  interrupted: { status: "interrupted", expiresAt: "2026-01-01T12:00:00Z" },
};

const governorOf = (gate: Gate, options: GovernOptions = {}) =>
  createGovernor(gate, ["send_mail"], { needs, ...options });

describe("the act of a call", () => {
  for (const row of [
    {
      name: "has the id of the call, alone when there is no run",
      options: {},
      call,
      act: { id: "call-1", traceId: "call-1" },
    },
    {
      name: "is within the framework's run",
      options: {},
      call: { ...call, run: "thread-1" },
      act: { traceId: "thread-1" },
    },
    {
      name: "is within the run of the options first",
      options: { run: "mine" },
      call: { ...call, run: "thread-1" },
      act: { traceId: "mine" },
    },
    { name: "has what a person is shown", options: {}, call, act: { tool: "send_mail", arguments: { to: "bob" } } },
    { name: "says that it changes nothing", options: { write: { send_mail: false } }, call, act: { write: false } },
    {
      name: "says what it costs",
      options: { spends: { send_mail: ({ to }: object & { to?: unknown }) => [{ unit: String(to), amount: 1 }] } },
      call,
      act: { spends: [{ unit: "bob", amount: 1 }] },
    },
  ])
    test(row.name, async () => {
      const { gate, begun } = gateOf("allowed");
      expect(await governorOf(gate, row.options).run(row.call, () => "sent")).toBe("sent");
      expect(begun).toMatchObject([row.act]);
    });

  test("has an id of its own each time when the framework has none", async () => {
    const { gate, begun } = gateOf("allowed");
    for (let count = 0; count < 2; count += 1) await governorOf(gate).run({ ...call, id: undefined }, () => "sent");
    expect(new Set(begun.map(({ id }) => id)).size).toBe(2);
  });
});

describe("a call that is not carried out", () => {
  for (const row of [
    { answer: "denied", code: "no_matching_grant", says: /^Denied \(no_matching_grant\): .+ Do not call it again/ },
    { answer: "waiting", code: "approval_required", says: /^Denied \(approval_required\): A person was asked/ },
    { answer: "failed", code: "effect_failed", says: /^This call failed before \(effect_failed\)/ },
    { answer: "interrupted", code: "replay_interrupted", says: /^Not repeated \(replay_interrupted\)/ },
    {
      answer: new Error("Off."),
      code: "gate_unavailable",
      says: /^Denied \(gate_unavailable\): the gate did not decide/,
    },
  ] as const)
    test(`tells the model so: ${row.code}`, async () => {
      const { gate, finished } = gateOf(row.answer);
      const effects: string[] = [];
      const running = governorOf(gate).run(call, () => effects.push("sent"));
      const refusal = { name: "ToolRefusedError", code: row.code, message: expect.stringMatching(row.says) as string };
      await expect(running).rejects.toMatchObject(refusal);
      expect([effects, finished]).toEqual([[], []]);
    });

  test("because its arguments do not say what it needs is never begun", async () => {
    const { gate, begun } = gateOf("allowed");
    const running = governorOf(gate).run({ ...call, arguments: {} }, () => "sent");
    await expect(running).rejects.toMatchObject({
      code: "invalid_tool_arguments",
      message: expect.stringMatching(/^Denied .+: to: /) as string,
    });
    expect(begun).toEqual([]);
  });
});

test("what an effect throws is thrown on as it is", async () => {
  const broken = new Error("The mail server is down.");
  await expect(governorOf(gateOf("allowed").gate).run(call, () => Promise.reject(broken))).rejects.toBe(broken);
});

test("a call that is only shadowed is carried out once, also when its arguments do not say what it needs", async () => {
  const effects: string[] = [];
  const governor = governorOf(gateOf(new Error("Off.")).gate, { shadow: true });
  await governor.run(call, () => effects.push("one"));
  await governor.run({ ...call, arguments: {} }, () => effects.push("two"));
  expect(effects).toEqual(["one", "two"]);
});

describe("a question", () => {
  test("is found out with a dry run, and then asked", async () => {
    const { gate, begun } = gateOf("waiting");
    expect(await governorOf(gate).asks(call)).toBe(true);
    expect(begun.map(({ dryRun }) => dryRun)).toEqual([true, undefined]);
  });

  test("that was answered in between gives back what it took", async () => {
    const { gate, begun, finished } = gateOf("waiting", "allowed");
    expect(await governorOf(gate).asks(call)).toBe(false);
    expect(finished).toMatchObject([
      { status: "failed", traceId: begun[1]?.traceId, error: { code: "cancelled", nothingHappened: true } },
    ]);
  });

  for (const row of [
    { name: "an act is allowed", answer: "allowed", options: {}, begun: 1 },
    { name: "an act is denied", answer: "denied", options: {}, begun: 1 },
    { name: "the gate does not answer", answer: new Error("Off."), options: {}, begun: 1 },
    { name: "the call waits by itself", answer: "waiting", options: { wait: 10 }, begun: 0 },
    { name: "the call is only shadowed", answer: "waiting", options: { shadow: true }, begun: 0 },
  ] as const)
    test(`is not asked when ${row.name}`, async () => {
      const { gate, begun } = gateOf(row.answer);
      expect(await governorOf(gate, row.options).asks(call)).toBe(false);
      expect(begun).toHaveLength(row.begun);
    });
});

for (const options of [
  { needs: { send_mial: "send mail" } },
  { write: { send_mial: false } },
  { spends: { other: [] } },
])
  test(`options that name no tool are refused: ${JSON.stringify(options)}`, () => {
    expect(() => createGovernor(gateOf("allowed").gate, ["send_mail"], options)).toThrow(TypeError);
  });
