import { expect, test } from "vitest";
import { Model } from "./model.ts";
import type { Scheduler } from "./scheduler.ts";
import type { Storage } from "./storage.ts";

/** A model of a storage that has no decision any more. */
function modelOfEmptyStorage(): Model {
  return new Model({ steps: 7 } as Scheduler, { rows: () => [{ n: 0 }] } as unknown as Storage);
}

const decided = { tenant: "acme", traceId: "trace-1", content: '{"path":["free"]}' };
const effect = {
  tenant: "acme",
  item: "free" as const,
  tool: "effects.add",
  tag: "acme/t",
  traceId: "trace-1",
  executionId: undefined,
  callId: "call-1",
  slot: "",
};

test("what was decided before a storage went back twice may take effect once, after that was accepted", () => {
  const model = modelOfEmptyStorage();
  for (const stored of [[{ ...decided, isLost: true }], []]) {
    model.wentBack(stored);
    model.lossAccepted();
  }
  model.effect(effect);
  expect(model.violations).toEqual([]);
  model.effect({ ...effect, callId: "call-2" });
  expect(model.violations).toEqual(["step 7: acme trace-1 call-2 took effect on free before its decision was stored"]);
});

test("what was decided on a storage that did not lose it does not count once it is not there", () => {
  const model = modelOfEmptyStorage();
  for (const stored of [[{ ...decided, isLost: false }], []]) {
    model.wentBack(stored);
    model.lossAccepted();
  }
  model.effect(effect);
  expect(model.violations).toEqual(["step 7: acme trace-1 call-1 took effect on free before its decision was stored"]);
});
