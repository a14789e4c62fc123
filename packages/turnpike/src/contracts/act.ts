import { z } from "zod";
import { strictObject } from "../internal/index.ts";
import { ActNeedsSchema } from "./act-request.ts";
import { AmountsSchema } from "./amount.ts";
import { JsonObjectSchema, JsonValueSchema } from "./json.ts";
import { ProvenanceSchema } from "./message.ts";
import { AgentRefSchema, PrincipalRefSchema } from "./principal.ts";
import { ResourceRefSchema } from "./resource.ts";
import { ActionSchema, IdentifierSchema } from "./scalars.ts";

/** What a message tells its receiver. */
const content = {
  payload: JsonValueSchema,
  /** The message that it answers: an approval of one reply is no approval of another. */
  replyTo: IdentifierSchema.optional(),
  provenance: ProvenanceSchema.optional(),
};

export const ActSchema = z.discriminatedUnion("kind", [
  strictObject({
    kind: z.literal("tool"),
    tool: IdentifierSchema,
    arguments: JsonObjectSchema,
    spends: AmountsSchema.optional(),
  }),
  strictObject({
    kind: z.literal("resource"),
    action: ActionSchema,
    resource: ResourceRefSchema,
    input: JsonValueSchema.optional(),
    metadata: JsonObjectSchema.optional(),
  }),
  strictObject({ kind: z.literal("message"), receiver: PrincipalRefSchema, ...content }),
  strictObject({
    kind: z.literal("turn"),
    agent: AgentRefSchema,
    sender: PrincipalRefSchema,
    ...content,
    state: JsonObjectSchema.optional(),
    metadata: JsonObjectSchema.optional(),
  }),
  strictObject({
    kind: z.literal("act"),
    tool: IdentifierSchema,
    needs: ActNeedsSchema,
    arguments: JsonValueSchema.optional(),
    spends: AmountsSchema.optional(),
  }),
]);

/** An act to its last argument, without ids and times: what a person approves or denies. */
export type Act = z.infer<typeof ActSchema>;
