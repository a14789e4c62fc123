import { z } from "zod";
import { boundedArray, strictObject } from "../internal/index.ts";
import { AuthorizationRequestSchema } from "./access.ts";
import { ErrorObjectSchema } from "./errors.ts";
import { JsonObjectSchema, JsonValueSchema } from "./json.ts";
import { boundedText, IdentifierSchema, isSortedSet, TimestampSchema } from "./scalars.ts";

export const ToolAnnotationsSchema = strictObject({
  readOnly: z.boolean().optional(),
  destructive: z.boolean().optional(),
  idempotent: z.boolean().optional(),
});

/** Hints about a tool's effect; they never contradict `readWrite`. */
export type ToolAnnotations = z.infer<typeof ToolAnnotationsSchema>;

export const ToolDescriptorSchema = strictObject({
  name: IdentifierSchema,
  description: boundedText({ min: 1, max: 8192 }),
  namespace: IdentifierSchema,
  source: IdentifierSchema,
  readWrite: z.enum(["read", "write"]),
  inputSchema: JsonObjectSchema,
  outputSchema: JsonObjectSchema.optional(),
  requiredCapability: AuthorizationRequestSchema,
  annotations: ToolAnnotationsSchema.optional(),
  metadata: JsonObjectSchema.optional(),
})
  .refine(({ readWrite, annotations }) => !(readWrite === "read" && annotations?.destructive === true), {
    path: ["annotations", "destructive"],
    message: "expected a read tool not to be destructive",
  })
  .refine(({ readWrite, annotations }) => !(readWrite === "write" && annotations?.readOnly === true), {
    path: ["annotations", "readOnly"],
    message: "expected a write tool not to be readOnly",
  });

/** What a tool is called, takes and needs. `requiredCapability` is a ceiling: no call may need more. */
export type ToolDescriptor = z.infer<typeof ToolDescriptorSchema>;

export const ToolCatalogSchema = boundedArray(ToolDescriptorSchema, { max: 512 }).refine(
  (tools) => isSortedSet(tools.map((tool) => tool.name)),
  "expected tools sorted by name, each once",
);

export const ToolCallSchema = strictObject({
  id: IdentifierSchema,
  tool: IdentifierSchema,
  arguments: JsonObjectSchema,
  requestedAt: TimestampSchema,
  traceId: IdentifierSchema,
});

/** One call of one tool. */
export type ToolCall = z.infer<typeof ToolCallSchema>;

const common = {
  callId: IdentifierSchema,
  tool: IdentifierSchema,
  completedAt: TimestampSchema,
  metadata: JsonObjectSchema.optional(),
};

export const ToolResultSchema = z.discriminatedUnion("status", [
  strictObject({ status: z.literal("succeeded"), ...common, output: JsonValueSchema }),
  strictObject({ status: z.literal("denied"), ...common, error: ErrorObjectSchema }),
  strictObject({ status: z.literal("failed"), ...common, error: ErrorObjectSchema }),
]);

/** What became of a tool call. */
export type ToolResult = z.infer<typeof ToolResultSchema>;
