import { expect, test } from "vitest";
import { memoryAudit } from "turnpike/testing";
import { auditEvent } from "../../../../tests/support/host/world.ts";
import { countingAudit } from "./counting-audit.ts";
import { createMetrics } from "./metrics.ts";

const allowed = auditEvent("event-1", { type: "authorization.checked", outcome: "allowed" });

test("an event goes to the sink as it is, and is counted once it is kept", async () => {
  const metrics = createMetrics({ routes: [] });
  const audit = memoryAudit();
  await countingAudit(audit, metrics).record(allowed);
  expect(audit.events).toEqual([allowed]);
  expect(audit.events[0]).toBe(allowed);
  expect(await metrics.text()).toContain('turnpike_decisions_total{reason="allowed"} 1');
});

test("an event that the sink refuses is refused, and not counted", async () => {
  const metrics = createMetrics({ routes: [] });
  const refusing = countingAudit({ record: () => Promise.reject(new Error("no space")) }, metrics);
  await expect(refusing.record(allowed)).rejects.toThrow("no space");
  expect(await metrics.text()).not.toContain("turnpike_decisions_total{");
});
