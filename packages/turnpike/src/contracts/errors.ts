import { z } from "zod";
import { strictObject } from "../internal/index.ts";
import { JsonObjectSchema } from "./json.ts";
import { IdentifierSchema, boundedText } from "./scalars.ts";

export const ErrorObjectSchema = strictObject({
  code: IdentifierSchema,
  message: boundedText({ min: 1, max: 4096 }),
  details: JsonObjectSchema.optional(),
  retryable: z.boolean().optional(),
});

/** Why a result is `denied`, `failed` or `cancelled`. Codes are open-ended. */
export type ErrorObject = z.infer<typeof ErrorObjectSchema>;

export const RequestErrorSchema = strictObject({
  error: strictObject({
    code: z.string(),
    message: z.string(),
    requestId: z.string(),
    /** What only operators are told: the service API has none. */
    details: JsonObjectSchema.optional(),
  }),
});

/** The body of every request-level HTTP error. */
export type RequestError = z.infer<typeof RequestErrorSchema>;
