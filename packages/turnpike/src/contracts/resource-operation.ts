import { z } from "zod";
import { strictObject } from "../internal/index.ts";
import { AccessContextSchema } from "./access.ts";
import { ErrorObjectSchema } from "./errors.ts";
import { JsonObjectSchema, JsonValueSchema } from "./json.ts";
import { ResourceRefSchema } from "./resource.ts";
import { ActionSchema, IdentifierSchema, TimestampSchema } from "./scalars.ts";

export const ResourceOperationSchema = strictObject({
  operationId: IdentifierSchema,
  action: ActionSchema,
  resource: ResourceRefSchema,
  context: AccessContextSchema,
  input: JsonValueSchema.optional(),
  metadata: JsonObjectSchema.optional(),
});

/** One act on one resource, as its provider gets it. */
export type ResourceOperation = z.infer<typeof ResourceOperationSchema>;

export const ResourceOperationRequestSchema = ResourceOperationSchema.omit({ context: true });

/** A resource operation as a caller sends it: the context is never the caller's to bring. */
export type ResourceOperationRequest = z.infer<typeof ResourceOperationRequestSchema>;

const common = {
  operationId: IdentifierSchema,
  completedAt: TimestampSchema,
  metadata: JsonObjectSchema.optional(),
};

export const ResourceResultSchema = z.discriminatedUnion("status", [
  strictObject({ status: z.literal("succeeded"), ...common, output: JsonValueSchema }),
  strictObject({ status: z.literal("denied"), ...common, error: ErrorObjectSchema }),
  strictObject({ status: z.literal("failed"), ...common, error: ErrorObjectSchema }),
]);

/** What became of a resource operation. */
export type ResourceResult = z.infer<typeof ResourceResultSchema>;
