import { z } from "zod";
import { strictObject } from "../internal/index.ts";
import { JsonObjectSchema } from "./json.ts";
import { PrincipalRefSchema } from "./principal.ts";
import { ResourceRefSchema } from "./resource.ts";
import { ActionSchema, IdentifierSchema, PurposeSchema, TimestampSchema, VersionSchema } from "./scalars.ts";

export const AuditEventTypeSchema = z.enum([
  "authorization.checked",
  "tool.invoked",
  "resource.invoked",
  "message.sent",
  "act.finished",
  "tool.catalog.listed",
  "tool.namespaces.listed",
  "tool.namespaces.updated",
  "reach.read",
  "turn.started",
  "turn.ended",
  "escalation.requested",
  "operator.changed",
]);
export type AuditEventType = z.infer<typeof AuditEventTypeSchema>;

/**
 * `allowed` and `denied` are decisions, recorded before the effect; `shadow` is one that had no effect on what happened; the others say
 * what became of it.
 */
export const AuditOutcomeSchema = z.enum([
  "allowed",
  "denied",
  "succeeded",
  "failed",
  "cancelled",
  "escalated",
  "shadow",
]);
export type AuditOutcome = z.infer<typeof AuditOutcomeSchema>;

export const AuditEventSchema = strictObject({
  id: IdentifierSchema,
  version: VersionSchema,
  type: AuditEventTypeSchema,
  outcome: AuditOutcomeSchema,
  at: TimestampSchema,
  traceId: IdentifierSchema,
  namespaceId: IdentifierSchema,
  actor: PrincipalRefSchema,
  authority: PrincipalRefSchema.optional(),
  owner: PrincipalRefSchema,
  purpose: PurposeSchema,
  executionId: IdentifierSchema.optional(),
  resource: ResourceRefSchema.optional(),
  action: ActionSchema.optional(),
  grantId: IdentifierSchema.optional(),
  tool: IdentifierSchema.optional(),
  operationId: IdentifierSchema.optional(),
  messageId: IdentifierSchema.optional(),
  receiver: PrincipalRefSchema.optional(),
  reason: IdentifierSchema.optional(),
  metadata: JsonObjectSchema.optional(),
});

/** One decision or one outcome. Arguments, outputs and payloads never enter it. */
export type AuditEvent = z.infer<typeof AuditEventSchema>;
