import { z } from "zod";
import { boundedArray, strictObject } from "../internal/index.ts";
import { ErrorObjectSchema } from "./errors.ts";
import { JsonObjectSchema, JsonValueSchema } from "./json.ts";
import { PrincipalRefSchema } from "./principal.ts";
import { IdentifierSchema, PurposeSchema, TimestampSchema, VersionSchema, boundedText } from "./scalars.ts";

export const ProvenanceSchema = strictObject({
  source: boundedText({ max: 1024 }),
  parentIds: boundedArray(IdentifierSchema, { max: 64 }),
  metadata: JsonObjectSchema.optional(),
});

export const MessageEnvelopeSchema = strictObject({
  version: VersionSchema,
  id: IdentifierSchema,
  createdAt: TimestampSchema,
  traceId: IdentifierSchema,
  purpose: PurposeSchema,
  sender: PrincipalRefSchema,
  receiver: PrincipalRefSchema,
  payload: JsonValueSchema,
  replyTo: IdentifierSchema.optional(),
  provenance: ProvenanceSchema.optional(),
});

/** A message between principals; it carries no authority. */
export type MessageEnvelope = z.infer<typeof MessageEnvelopeSchema>;

const common = {
  messageId: IdentifierSchema,
  timestamp: TimestampSchema,
  metadata: JsonObjectSchema.optional(),
};

export const MessageResultSchema = z.discriminatedUnion("status", [
  strictObject({ status: z.literal("accepted"), ...common }),
  strictObject({ status: z.literal("delivered"), ...common }),
  strictObject({ status: z.literal("denied"), ...common, error: ErrorObjectSchema }),
  strictObject({ status: z.literal("failed"), ...common, error: ErrorObjectSchema }),
]);

/** What became of a message. */
export type MessageResult = z.infer<typeof MessageResultSchema>;
