import { z } from "zod";
import { boundedArray, strictObject } from "../internal/index.ts";
import { ErrorObjectSchema } from "./errors.ts";
import { AuthorityRequestInputSchema, AuthorityRequestSchema } from "./grant.ts";
import { JsonObjectSchema, JsonValueSchema } from "./json.ts";
import { MessageEnvelopeSchema } from "./message.ts";
import { AgentRefSchema, PrincipalRefSchema } from "./principal.ts";
import { IdentifierSchema, TimestampSchema, VersionSchema, boundedText } from "./scalars.ts";

export const TurnOptionsSchema = strictObject({
  maxSteps: z.int().min(1).max(1000).optional(),
  maxToolCalls: z.int().min(1).max(10_000).optional(),
  timeoutMs: z.int().min(1).max(600_000).optional(),
});

/** The limits a caller asks for; what is left out is the host's default. */
export type TurnOptions = z.infer<typeof TurnOptionsSchema>;

export const TurnRequestSchema = strictObject({
  version: VersionSchema,
  executionId: IdentifierSchema,
  agent: AgentRefSchema,
  message: MessageEnvelopeSchema,
  metadata: JsonObjectSchema.optional(),
  state: JsonObjectSchema.optional(),
  options: TurnOptionsSchema.optional(),
});

/** One bounded agent turn to run. */
export type TurnRequest = z.infer<typeof TurnRequestSchema>;

export const TurnEventTypeSchema = z.enum([
  "turn.started",
  "tool.requested",
  "tool.completed",
  "runtime.event",
  "turn.completed",
  "turn.escalated",
  "turn.failed",
  "turn.denied",
  "turn.cancelled",
]);
export type TurnEventType = z.infer<typeof TurnEventTypeSchema>;

export const TurnEventSchema = strictObject({
  version: VersionSchema,
  eventId: IdentifierSchema,
  executionId: IdentifierSchema,
  traceId: IdentifierSchema,
  sequence: z.int().min(0),
  type: TurnEventTypeSchema,
  data: JsonValueSchema,
  occurredAt: TimestampSchema,
});

/** One thing that happened in a turn; `sequence` counts from 0 without gaps. */
export type TurnEvent = z.infer<typeof TurnEventSchema>;

export const EscalationInputSchema = strictObject({
  reason: boundedText({ min: 1, max: 4096 }),
  requestedAuthority: AuthorityRequestInputSchema.optional(),
});

/** What a turn says when it escalates; the rest of the escalation is the service's to say. */
export type EscalationInput = z.infer<typeof EscalationInputSchema>;

export const EscalationSchema = strictObject({
  status: z.literal("pending"),
  reason: boundedText({ max: 4096 }),
  requestedAt: TimestampSchema,
  reviewer: PrincipalRefSchema,
  requestedAuthority: AuthorityRequestSchema.optional(),
});

/** A request to the owner that a turn ended with; nothing inside a turn can answer it. */
export type Escalation = z.infer<typeof EscalationSchema>;

const common = {
  version: VersionSchema,
  executionId: IdentifierSchema,
  traceId: IdentifierSchema,
  startedAt: TimestampSchema,
  completedAt: TimestampSchema,
  events: boundedArray(TurnEventSchema, { max: 100_000 }),
  metadata: JsonObjectSchema.optional(),
};

export const TurnResultSchema = z.discriminatedUnion("status", [
  strictObject({ status: z.literal("succeeded"), ...common, output: JsonValueSchema }),
  strictObject({ status: z.literal("denied"), ...common, error: ErrorObjectSchema }),
  strictObject({ status: z.literal("failed"), ...common, error: ErrorObjectSchema }),
  strictObject({ status: z.literal("cancelled"), ...common, error: ErrorObjectSchema.optional() }),
  strictObject({ status: z.literal("escalated"), ...common, escalation: EscalationSchema }),
]);

/** How a turn ended. */
export type TurnResult = z.infer<typeof TurnResultSchema>;

export const TurnStatusSchema = z.enum([
  "running",
  "waiting",
  "succeeded",
  "denied",
  "failed",
  "cancelled",
  "escalated",
]);

/** Where a turn is: it runs, it waits for an answer, or it has ended as its result says. */
export type TurnStatus = z.infer<typeof TurnStatusSchema>;

export const TurnStateSchema = strictObject({
  version: VersionSchema,
  executionId: IdentifierSchema,
  traceId: IdentifierSchema,
  agent: AgentRefSchema,
  status: TurnStatusSchema,
  startedAt: TimestampSchema,
  updatedAt: TimestampSchema,
  completedAt: TimestampSchema.optional(),
  steps: z.int().min(0),
  toolCalls: z.int().min(0),
  escalation: EscalationSchema.optional(),
  result: TurnResultSchema.optional(),
});

/** The state of a turn: with its escalation while it waits, with its result once it has ended. */
export type TurnState = z.infer<typeof TurnStateSchema>;

export const TurnListSchema = strictObject({
  turns: boundedArray(TurnStateSchema, { max: 200 }),
  next: z.string().optional(),
});

/** A page of turns, the newest first; `next` asks for the page behind it. */
export type TurnList = z.infer<typeof TurnListSchema>;

export const TurnEventListSchema = strictObject({ events: boundedArray(TurnEventSchema, { max: 100_000 }) });

/** The events of a turn, from a cursor on. */
export type TurnEventList = z.infer<typeof TurnEventListSchema>;
