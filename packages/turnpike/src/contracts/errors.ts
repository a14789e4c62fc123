import { z } from "zod";
import { JsonObjectSchema } from "./json.ts";
import { IdentifierSchema } from "./scalars.ts";

export const ErrorObjectSchema = z.strictObject({
  code: IdentifierSchema,
  message: z.string().min(1).max(4096),
  details: JsonObjectSchema.optional(),
  retryable: z.boolean().optional(),
});

/** Why a result is `denied`, `failed` or `cancelled`. Codes are open-ended. */
export type ErrorObject = z.infer<typeof ErrorObjectSchema>;

export const RequestErrorSchema = z.strictObject({
  error: z.strictObject({ code: z.string(), message: z.string(), requestId: z.string() }),
});

/** The body of every request-level HTTP error. */
export type RequestError = z.infer<typeof RequestErrorSchema>;
