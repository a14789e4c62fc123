import { shapeRows, testContract } from "../../test/contract-rows.ts";
import { auditEvent } from "../../test/valid-objects.ts";
import { AuditEventSchema, AuditEventTypeSchema, AuditOutcomeSchema } from "./audit.ts";

const types = [
  "authorization.checked",
  "tool.invoked",
  "resource.invoked",
  "message.sent",
  "tool.catalog.listed",
  "tool.namespaces.listed",
  "tool.namespaces.updated",
  "reach.read",
  "turn.started",
  "turn.ended",
  "escalation.requested",
];

testContract("the audit type", AuditEventTypeSchema, [
  ...types.map((value) => ({ name: value, value })),
  { name: "turn.completed", value: "turn.completed", refusedAt: "" },
]);

testContract("the audit outcome", AuditOutcomeSchema, [
  ...["allowed", "denied", "succeeded", "failed", "cancelled", "escalated"].map((value) => ({ name: value, value })),
  { name: "ok", value: "ok", refusedAt: "" },
]);

testContract("an audit event", AuditEventSchema, [
  ...shapeRows(auditEvent, {
    required: ["id", "version", "type", "outcome", "at", "traceId", "namespaceId", "actor", "owner", "purpose"],
    optional: [
      "authority",
      "executionId",
      "resource",
      "action",
      "grantId",
      "tool",
      "operationId",
      "messageId",
      "receiver",
      "reason",
      "metadata",
    ],
  }),
  { name: "with arguments", value: { ...auditEvent, arguments: {} }, refusedAt: "/arguments" },
  { name: "with an output", value: { ...auditEvent, output: 1 }, refusedAt: "/output" },
  { name: "with a payload", value: { ...auditEvent, payload: 1 }, refusedAt: "/payload" },
]);
