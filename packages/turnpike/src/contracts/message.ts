import { z } from "zod";
import { ErrorObjectSchema } from "./errors.ts";
import { JsonObjectSchema, JsonValueSchema } from "./json.ts";
import { PrincipalRefSchema } from "./principal.ts";
import { IdentifierSchema, PurposeSchema, TimestampSchema, VersionSchema } from "./scalars.ts";

export const ProvenanceSchema = z.strictObject({
  source: z.string(),
  parentIds: z.array(IdentifierSchema),
  metadata: JsonObjectSchema.optional(),
});

export const MessageEnvelopeSchema = z.strictObject({
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
  z.strictObject({ status: z.literal("accepted"), ...common }),
  z.strictObject({ status: z.literal("delivered"), ...common }),
  z.strictObject({ status: z.literal("denied"), ...common, error: ErrorObjectSchema }),
  z.strictObject({ status: z.literal("failed"), ...common, error: ErrorObjectSchema }),
]);

/** What became of a message. */
export type MessageResult = z.infer<typeof MessageResultSchema>;
