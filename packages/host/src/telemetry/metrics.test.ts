import { register } from "prom-client";
import { expect, test } from "vitest";
import type { AuditEvent } from "turnpike/contracts";
import { auditEvent } from "../../test/records.ts";
import { createMetrics, type Metrics } from "./metrics.ts";

/** The lines of one metric, without its description. */
async function linesOf(metrics: Metrics, name: string): Promise<string[]> {
  return (await metrics.text())
    .split("\n")
    .filter((line) => line.startsWith(`${name}{`) || line.startsWith(`${name} `));
}

test("metrics are text for Prometheus, with those of the process", async () => {
  const metrics = createMetrics();
  expect(metrics.contentType).toBe("text/plain; version=0.0.4; charset=utf-8");
  const text = await metrics.text();
  for (const name of ["turnpike_turns_running", "process_cpu_seconds_total", "nodejs_eventloop_lag_p99_seconds"]) {
    expect(text).toMatch(new RegExp(`^${name}`, "m"));
  }
});

test("nothing is put into the registry that the whole process shares", async () => {
  createMetrics().request("/health", 200, 0.1);
  expect(register.getMetricsAsArray()).toEqual([]);
});

test("two hosts in one process count apart", async () => {
  const [one, other] = [createMetrics(), createMetrics()];
  one.request("/health", 200, 0.1);
  expect(await linesOf(one, "turnpike_requests_total")).toHaveLength(1);
  expect(await linesOf(other, "turnpike_requests_total")).toEqual([]);
});

test("requests are counted by route and status and timed by route", async () => {
  const metrics = createMetrics();
  metrics.request("/health", 200, 0.003);
  metrics.request("/health", 200, 0.2);
  metrics.request("/v1/tools/invoke", 429, 0.001);
  metrics.request("other", 404, 0.001);
  expect(await linesOf(metrics, "turnpike_requests_total")).toEqual([
    'turnpike_requests_total{route="/health",status="200"} 2',
    'turnpike_requests_total{route="/v1/tools/invoke",status="429"} 1',
    'turnpike_requests_total{route="other",status="404"} 1',
  ]);
  expect(await linesOf(metrics, "turnpike_request_duration_seconds_count")).toEqual([
    'turnpike_request_duration_seconds_count{route="/health"} 2',
    'turnpike_request_duration_seconds_count{route="/v1/tools/invoke"} 1',
    'turnpike_request_duration_seconds_count{route="other"} 1',
  ]);
  expect(await linesOf(metrics, "turnpike_request_duration_seconds_bucket")).toContain(
    'turnpike_request_duration_seconds_bucket{le="0.005",route="/health"} 1',
  );
});

const decision: Partial<AuditEvent> = { type: "authorization.checked", outcome: "denied" };
const ending: Partial<AuditEvent> = { type: "turn.ended", outcome: "failed" };

for (const row of [
  {
    name: "an allowed decision",
    event: { ...decision, outcome: "allowed", grantId: "grant-1" },
    line: 'turnpike_decisions_total{reason="allowed"} 1',
  },
  {
    name: "a denied decision",
    event: { ...decision, reason: "no_matching_grant" },
    line: 'turnpike_decisions_total{reason="no_matching_grant"} 1',
  },
  {
    name: "a decision with a reason that is in no table",
    event: { ...decision, reason: "tenant-1" },
    line: 'turnpike_decisions_total{reason="other"} 1',
  },
  {
    name: "a decision with a reason that every object has",
    event: { ...decision, reason: "constructor" },
    line: 'turnpike_decisions_total{reason="other"} 1',
  },
  {
    name: "a tool call that succeeded",
    event: { type: "tool.invoked", outcome: "succeeded", tool: "files.read" },
    line: 'turnpike_tool_calls_total{outcome="succeeded"} 1',
  },
  {
    name: "a tool call that was denied",
    event: { type: "tool.invoked", outcome: "denied", reason: "tool_unavailable" },
    line: 'turnpike_tool_calls_total{outcome="denied"} 1',
  },
  {
    name: "a turn that succeeded",
    event: { ...ending, outcome: "succeeded" },
    line: 'turnpike_turns_total{outcome="succeeded",reason="none"} 1',
  },
  {
    name: "a turn that was cancelled",
    event: { ...ending, outcome: "cancelled", reason: "turn_cancelled" },
    line: 'turnpike_turns_total{outcome="cancelled",reason="turn_cancelled"} 1',
  },
  {
    name: "a turn that failed for a reason of its runtime",
    event: { ...ending, reason: "the customer's name" },
    line: 'turnpike_turns_total{outcome="failed",reason="other"} 1',
  },
] as { name: string; event: Partial<AuditEvent>; line: string }[]) {
  test(`${row.name} is counted`, async () => {
    const metrics = createMetrics();
    metrics.event(auditEvent("event-1", row.event));
    const text = await metrics.text();
    const samples = text.split("\n").filter((line) => /^turnpike_\w+_total\{/.test(line));
    expect(samples).toEqual([row.line]);
  });
}

test("an event that is neither a decision, nor a tool call, nor the end of a turn is not counted", async () => {
  const metrics = createMetrics();
  metrics.event(auditEvent("event-1", { type: "turn.started" }));
  metrics.event(auditEvent("event-2", { type: "message.sent" }));
  expect(await metrics.text()).not.toMatch(/^turnpike_\w+_total\{/m);
});

test("nothing that a caller chose is in the metrics", async () => {
  const metrics = createMetrics();
  const chosen = "chosen-by-a-caller";
  const caller = { kind: "agent", agentId: chosen } as const;
  for (const type of ["authorization.checked", "tool.invoked", "turn.ended"] as const) {
    const who = { actor: caller, owner: caller, authority: caller, namespaceId: chosen, traceId: chosen };
    const what = {
      tool: chosen,
      operationId: chosen,
      grantId: chosen,
      action: chosen,
      reason: chosen,
      purpose: chosen,
    };
    metrics.event(auditEvent(chosen, { type, ...who, ...what, executionId: chosen, metadata: { [chosen]: chosen } }));
  }
  const text = await metrics.text();
  expect(text).toContain('reason="other"');
  expect(text).not.toContain(chosen);
});

test("queues are read when metrics are scraped, and one that fails hides nothing else", async () => {
  const metrics = createMetrics();
  let depth = 0;
  metrics.watchQueue("audit", () => (depth += 1));
  metrics.watchQueue("messages", () => Promise.resolve(7));
  metrics.watchQueue("escalations", () => Promise.reject(new Error("the database is away")));
  expect(depth).toBe(0);
  expect(await linesOf(metrics, "turnpike_queue_depth")).toEqual([
    'turnpike_queue_depth{queue="audit"} 1',
    'turnpike_queue_depth{queue="messages"} 7',
    'turnpike_queue_depth{queue="escalations"} Nan',
  ]);
  expect((await linesOf(metrics, "turnpike_queue_depth"))[0]).toBe('turnpike_queue_depth{queue="audit"} 2');
});
