import { expect, test } from "vitest";
import { countingApi, events, turn } from "../../test/counting-api.ts";
import { auditEvent, context } from "../../test/records.ts";
import { memoryAudit } from "turnpike/testing";
import { countAuditEvents, measureTurns } from "./measure.ts";
import { createMetrics, type Metrics } from "./metrics.ts";

async function sampleOf(metrics: Metrics, sample: string): Promise<string | undefined> {
  const line = (await metrics.text()).split("\n").find((text) => text.startsWith(`${sample} `));
  return line?.slice(sample.length + 1);
}

const succeeded = 'turnpike_turn_duration_seconds_count{outcome="succeeded"}';

test("a turn runs while it runs, and is timed when it has ended", async () => {
  const metrics = createMetrics();
  let finish = (): void => {};
  const { api } = countingApi(() => new Promise((resolve) => void (finish = resolve)));
  const running = measureTurns(api, metrics).executeTurn(context(), turn);
  expect(await sampleOf(metrics, "turnpike_turns_running")).toBe("1");
  expect(await sampleOf(metrics, succeeded)).toBeUndefined();
  finish();
  expect((await running).status).toBe("succeeded");
  expect(await sampleOf(metrics, "turnpike_turns_running")).toBe("0");
  expect(await sampleOf(metrics, succeeded)).toBe("1");
});

test("what never became a turn is over, and not timed", async () => {
  const metrics = createMetrics();
  const { api } = countingApi(() => Promise.reject(new Error("refused")));
  await expect(measureTurns(api, metrics).executeTurn(context(), turn)).rejects.toThrow("refused");
  expect(await sampleOf(metrics, "turnpike_turns_running")).toBe("0");
  expect(await metrics.text()).not.toContain("turnpike_turn_duration_seconds_count");
});

test("a turn is watched as before, and everything else is the api's own", async () => {
  const { api } = countingApi();
  const measured = measureTurns(api, createMetrics());
  const seen: unknown[] = [];
  await measured.executeTurn(context(), turn, { onEvent: (event) => void seen.push(event) });
  expect(seen).toEqual(events);
  expect(measured.invokeTool).toBe(api.invokeTool);
});

const allowed = auditEvent("event-1", { type: "authorization.checked", outcome: "allowed" });

test("an event goes to the sink as it is, and is counted once it is stored", async () => {
  const metrics = createMetrics();
  const audit = memoryAudit();
  await countAuditEvents(audit, metrics).record(allowed);
  expect(audit.events).toEqual([allowed]);
  expect(audit.events[0]).toBe(allowed);
  expect(await metrics.text()).toContain('turnpike_decisions_total{reason="allowed"} 1');
});

test("an event that the sink refuses is refused, and not counted", async () => {
  const metrics = createMetrics();
  const refusing = countAuditEvents({ record: () => Promise.reject(new Error("no space")) }, metrics);
  await expect(refusing.record(allowed)).rejects.toThrow("no space");
  expect(await metrics.text()).not.toContain("turnpike_decisions_total{");
});
