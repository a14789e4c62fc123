import { expect, test } from "vitest";
import { neverAborted } from "../internal/index.ts";
import { memoryGrants } from "../testing/index.ts";
import { callPort, reportPortError, type Ports } from "./call-port.ts";
import type { PortFailure } from "./ports.ts";

const failure: PortFailure = { port: "usage", id: "grant-1" };
const outage = new Error("the disk is gone");

const asSaid = (said: unknown): unknown => said;

interface Observed {
  ports: Ports;
  seen: { error: unknown; failure: PortFailure }[];
}

function observed(): Observed {
  const seen: Observed["seen"] = [];
  const onPortError = (error: unknown, about: PortFailure): void => void seen.push({ error, failure: about });
  return { ports: { grants: memoryGrants(), audit: "none", onPortError }, seen };
}

for (const row of [
  { name: "that answers is its answer", call: () => Promise.resolve(7), answer: { ok: true, value: 7 }, told: [] },
  {
    name: "that answers undefined is an answer all the same",
    call: () => Promise.resolve(undefined),
    answer: { ok: true, value: undefined },
    told: [],
  },
  {
    name: "that rejects is a value without the error, which the operator gets",
    call: () => Promise.reject(outage),
    answer: { ok: false },
    told: [{ error: outage, failure }],
  },
  {
    name: "that throws before it returns a promise is treated alike",
    call: (): Promise<never> => {
      throw outage;
    },
    answer: { ok: false },
    told: [{ error: outage, failure }],
  },
]) {
  test(`a port ${row.name}`, async () => {
    const { ports, seen } = observed();
    const answer = await callPort<unknown, unknown>(ports, failure, neverAborted(), row.call, asSaid);
    expect(answer).toStrictEqual(row.answer);
    expect(seen).toStrictEqual(row.told);
  });
}

test("what a port said and cannot be used is an error of the port", async () => {
  const { ports, seen } = observed();
  const unusable = new TypeError("expected a number");
  const read = (): never => {
    throw unusable;
  };
  const answer = await callPort(ports, failure, neverAborted(), () => Promise.resolve("many"), read);
  expect([answer, seen]).toStrictEqual([{ ok: false }, [{ error: unusable, failure }]]);
});

for (const row of [
  { name: "an answer that comes after the abort", call: () => Promise.resolve("late") },
  { name: "an error that the abort may have caused", call: () => Promise.reject(outage) },
]) {
  test(`${row.name} is dropped: the caller's own reason is thrown and the operator is not told`, async () => {
    const { ports, seen } = observed();
    const controller = new AbortController();
    const reason = new Error("the caller went away");
    const call = (): Promise<unknown> => {
      controller.abort(reason);
      return row.call();
    };
    const calling = callPort(ports, failure, controller.signal, call, asSaid);
    await expect(calling).rejects.toBe(reason);
    expect(seen).toStrictEqual([]);
  });
}

for (const row of [
  {
    name: "an observer that throws",
    options: {
      onPortError: () => {
        throw new Error("the observer fell over");
      },
    },
  },
  { name: "no observer at all", options: {} },
]) {
  test(`with ${row.name} a failed port is still only a value`, async () => {
    const ports: Ports = { grants: memoryGrants(), audit: "none", ...row.options };
    expect(() => reportPortError(ports, outage, failure)).not.toThrow();
    const answer = await callPort(ports, failure, neverAborted(), () => Promise.reject(outage), asSaid);
    expect(answer).toStrictEqual({ ok: false });
  });
}
