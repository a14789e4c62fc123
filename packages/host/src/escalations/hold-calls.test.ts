import { expect, test } from "vitest";
import type { ActRequest, ActState } from "turnpike/contracts";
import type { BeginActOptions, ServiceApi } from "turnpike/http";
import { context } from "../../test/records.ts";
import { holdCalls, type HoldCallsOptions } from "./hold-calls.ts";

const waiting = (escalationId?: string): ActState => ({
  status: "waiting",
  id: "act-1",
  ...(escalationId !== undefined && { escalationId }),
});
const allowed: ActState = { status: "allowed", id: "act-1", grants: ["run"] };

/** An api that answers one state after the other, and what it and those who hold its calls were asked. */
function openWorld(states: readonly ActState[], changes: Partial<HoldCallsOptions> = {}) {
  const left = [...states];
  const steps: string[] = [];
  const service = {
    beginAct: ({ now }) => {
      steps.push(`begin ${now}`);
      return Promise.resolve(left.shift() as ActState);
    },
  } as Pick<ServiceApi, "beginAct"> as ServiceApi;
  const api = holdCalls(service, {
    held: {
      hold({ id }, { credentialId }) {
        steps.push(`hold ${id} of ${credentialId}`);
        return Promise.resolve(true);
      },
      wake() {},
      close() {},
    },
    credentialOf: () => "credential-1",
    contextNow: (given) => Promise.resolve({ ...given, now: "later" }),
    attempt: (act) => act(),
    ...changes,
  });
  const begin = async (request: Partial<ActRequest> = {}, call: BeginActOptions = { waitSeconds: 60 }) =>
    api.beginAct?.({ ...context(), now: "first" }, request as ActRequest, {
      onHeld: () => void steps.push("held"),
      ...call,
    });
  return { begin, steps };
}

test("a call is held while it waits, and begun anew in the context of the answer's time", async () => {
  const { begin, steps } = openWorld([waiting("q1"), allowed]);
  expect(await begin()).toBe(allowed);
  expect(steps).toEqual(["begin first", "hold q1 of credential-1", "held", "begin later"]);
});

test("one that is asked about anew is held for the other escalation too", async () => {
  const { begin, steps } = openWorld([waiting("q1"), waiting("q2"), allowed]);
  expect(await begin()).toBe(allowed);
  expect(steps.filter((step) => step.startsWith("hold"))).toEqual([
    "hold q1 of credential-1",
    "hold q2 of credential-1",
  ]);
});

test("one whose escalation still waits by this host's clock is answered, and not begun again and again", async () => {
  const { begin, steps } = openWorld([waiting("q1"), waiting("q1"), allowed]);
  expect(await begin()).toEqual(waiting("q1"));
  expect(steps.filter((step) => step.startsWith("begin"))).toHaveLength(2);
});

for (const { name, states = [waiting("q1")], request = {}, call = { waitSeconds: 60 }, changes = {} } of [
  { name: "that is allowed", states: [allowed] },
  { name: "about which no person was asked", states: [waiting()] },
  { name: "that does not want to wait", call: {} },
  { name: "that is tried dry", request: { dryRun: true as const } },
  { name: "that only shadows", request: { shadow: true as const } },
  { name: "without a credential", changes: { credentialOf: () => undefined } },
])
  test(`a call ${name} is not held`, async () => {
    const { begin, steps } = openWorld(states, changes);
    expect(await begin(request, call)).toEqual(states[0]);
    expect(steps).toEqual(["begin first"]);
  });

test("a call that finds no place, or whose time is over, is answered as it was", async () => {
  const held = { wake() {}, close() {} };
  const full = openWorld([waiting("q1")], { held: { ...held, hold: () => undefined } });
  expect(await full.begin()).toEqual(waiting("q1"));
  expect(full.steps).toEqual(["begin first"]);
  const over = openWorld([waiting("q1")], { held: { ...held, hold: () => Promise.resolve(false) } });
  expect(await over.begin()).toEqual(waiting("q1"));
  expect(over.steps).toEqual(["begin first", "held"]);
});

test("a caller who is no longer admitted is refused, and nothing is begun", async () => {
  const refusal = new Error("no longer admitted");
  const { begin, steps } = openWorld([waiting("q1"), allowed], { contextNow: () => Promise.reject(refusal) });
  await expect(begin()).rejects.toBe(refusal);
  expect(steps.filter((step) => step.startsWith("begin"))).toEqual(["begin first"]);
});

test("an api without acts stays as it is", () => {
  const api = {} as ServiceApi;
  expect(holdCalls(api, {} as HoldCallsOptions)).toBe(api);
});
