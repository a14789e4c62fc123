import { shapeRows, testContract } from "../../test/contract-rows.ts";
import * as valid from "../../test/valid-objects.ts";
import {
  EscalationInputSchema,
  EscalationSchema,
  TurnEventSchema,
  TurnOptionsSchema,
  TurnRequestSchema,
  TurnResultSchema,
} from "./turn.ts";

testContract("a set of turn options", TurnOptionsSchema, [
  ...shapeRows(valid.turnOptions, { required: [], optional: ["maxSteps", "maxToolCalls", "timeoutMs"] }),
  { name: "that is empty", value: {} },
  { name: "with every smallest value", value: { maxSteps: 1, maxToolCalls: 1, timeoutMs: 1 } },
  { name: "with every largest value", value: { maxSteps: 1000, maxToolCalls: 10_000, timeoutMs: 600_000 } },
  { name: "with 0 steps", value: { maxSteps: 0 }, refusedAt: "/maxSteps" },
  { name: "with 1001 steps", value: { maxSteps: 1001 }, refusedAt: "/maxSteps" },
  { name: "with 1.5 steps", value: { maxSteps: 1.5 }, refusedAt: "/maxSteps" },
  { name: "with steps in a string", value: { maxSteps: "16" }, refusedAt: "/maxSteps" },
  { name: "with 0 tool calls", value: { maxToolCalls: 0 }, refusedAt: "/maxToolCalls" },
  { name: "with 10001 tool calls", value: { maxToolCalls: 10_001 }, refusedAt: "/maxToolCalls" },
  { name: "with 0 milliseconds", value: { timeoutMs: 0 }, refusedAt: "/timeoutMs" },
  { name: "with 600001 milliseconds", value: { timeoutMs: 600_001 }, refusedAt: "/timeoutMs" },
  { name: "with -1 milliseconds", value: { timeoutMs: -1 }, refusedAt: "/timeoutMs" },
]);

const request = valid.turnRequest;

testContract("a turn request", TurnRequestSchema, [
  ...shapeRows(request, {
    required: ["version", "executionId", "agent", "message"],
    optional: ["metadata", "state", "options"],
  }),
  { name: `of version "1"`, value: { ...request, version: "1" } },
  { name: "of version 2", value: { ...request, version: 2 }, refusedAt: "/version" },
  {
    name: "whose agent is a service",
    value: { ...request, agent: { kind: "service", agentId: "a" } },
    refusedAt: "/agent/kind",
  },
  { name: "whose state is a list", value: { ...request, state: [] }, refusedAt: "/state" },
  {
    name: "with an option out of range",
    value: { ...request, options: { maxSteps: 1001 } },
    refusedAt: "/options/maxSteps",
  },
  {
    name: "with a bad message",
    value: { ...request, message: { ...valid.messageEnvelope, version: 2 } },
    refusedAt: "/message/version",
  },
  { name: "that brings a context", value: { ...request, context: valid.accessContext }, refusedAt: "/context" },
  { name: "that brings tools", value: { ...request, tools: [valid.toolDescriptor] }, refusedAt: "/tools" },
  { name: "that brings grants", value: { ...request, grants: [valid.grant] }, refusedAt: "/grants" },
  { name: "that chooses a runtime", value: { ...request, runtime: "model" }, refusedAt: "/runtime" },
]);

testContract("a turn event", TurnEventSchema, [
  ...shapeRows(valid.turnEvent, {
    required: ["version", "eventId", "executionId", "traceId", "sequence", "type", "data", "occurredAt"],
  }),
  ...[
    "turn.started",
    "tool.requested",
    "tool.completed",
    "runtime.event",
    "turn.completed",
    "turn.escalated",
    "turn.failed",
    "turn.denied",
    "turn.cancelled",
  ].map((type) => ({ name: `of type ${type}`, value: { ...valid.turnEvent, type } })),
  { name: "of type turn.paused", value: { ...valid.turnEvent, type: "turn.paused" }, refusedAt: "/type" },
  { name: "with sequence 1", value: { ...valid.turnEvent, sequence: 1 } },
  { name: "with sequence -1", value: { ...valid.turnEvent, sequence: -1 }, refusedAt: "/sequence" },
  { name: "with sequence 0.5", value: { ...valid.turnEvent, sequence: 0.5 }, refusedAt: "/sequence" },
  { name: "with null for data", value: { ...valid.turnEvent, data: null } },
]);

testContract("an escalation's ask", EscalationInputSchema, [
  ...shapeRows(
    {
      reason: "The report needs a signature.",
      requestedAuthority: { capabilities: valid.authorityRequest.capabilities },
    },
    { required: ["reason"], optional: ["requestedAuthority"] },
  ),
  { name: "with a reason of 4096 characters", value: { reason: "r".repeat(4096) } },
  { name: "with a reason of 4097 characters", value: { reason: "r".repeat(4097) }, refusedAt: "/reason" },
  { name: "with an empty reason", value: { reason: "" }, refusedAt: "/reason" },
  {
    name: "that says who asks",
    value: { reason: "r", requestedAuthority: { id: "mine", capabilities: valid.authorityRequest.capabilities } },
    refusedAt: "/requestedAuthority/id",
  },
]);

testContract("an escalation", EscalationSchema, [
  ...shapeRows(valid.escalation, {
    required: ["status", "reason", "requestedAt", "reviewer"],
    optional: ["requestedAuthority"],
  }),
  { name: "that is approved", value: { ...valid.escalation, status: "approved" }, refusedAt: "/status" },
]);

const common = ["status", "version", "executionId", "traceId", "startedAt", "completedAt", "events"];
const { succeeded, failed, cancelled, escalated } = valid.turnResults;

testContract("a turn result", TurnResultSchema, [
  { name: `of version "1"`, value: { ...succeeded, version: "1" } },
  { name: "of version 2", value: { ...succeeded, version: 2 }, refusedAt: "/version" },
  { name: "without any event", value: { ...succeeded, events: [] } },
  { name: "of another status", value: { ...succeeded, status: "running" }, refusedAt: "/status" },
  { name: "that succeeded with an error", value: { ...succeeded, error: valid.errorObject }, refusedAt: "/error" },
  { name: "that failed with an output", value: { ...failed, output: 1 }, refusedAt: "/output" },
]);

for (const { subject, complete, required, optional } of [
  { subject: "a succeeded turn", complete: succeeded, required: ["output"], optional: [] },
  { subject: "a denied turn", complete: valid.turnResults.denied, required: ["error"], optional: [] },
  { subject: "a failed turn", complete: failed, required: ["error"], optional: [] },
  { subject: "a cancelled turn", complete: cancelled, required: [], optional: ["error"] },
  { subject: "an escalated turn", complete: escalated, required: ["escalation"], optional: [] },
]) {
  testContract(
    subject,
    TurnResultSchema,
    shapeRows(complete, { required: [...common, ...required], optional: ["metadata", ...optional] }),
  );
}
