import { z } from "zod";
import { boundedArray, strictObject } from "../internal/index.ts";
import { AuthorizationRequestSchema } from "./access.ts";
import { AmountsSchema } from "./amount.ts";
import { ErrorObjectSchema } from "./errors.ts";
import { AuthorityRequestSchema } from "./grant.ts";
import { JsonValueSchema } from "./json.ts";
import { boundedText, IdentifierSchema, TimestampSchema, VersionSchema } from "./scalars.ts";

/** What an act may need. */
export const ActNeedsSchema = boundedArray(AuthorizationRequestSchema, { min: 1, max: 64 });

export const ActRequestSchema = strictObject({
  version: VersionSchema,
  id: IdentifierSchema,
  tool: IdentifierSchema,
  /** Each has to be covered by some grant alone. */
  needs: ActNeedsSchema,
  /** Shown to a person who is asked. Never recorded in the audit log. */
  arguments: JsonValueSchema.optional(),
  /** Whether the effect changes anything; true when absent. */
  write: z.boolean().optional(),
  spends: AmountsSchema.optional(),
  requestedAt: TimestampSchema,
  traceId: IdentifierSchema,
  executionId: IdentifierSchema.optional(),
  /** For how long the act is the caller's to carry out; 300 when absent. */
  leaseSeconds: z.int().min(1).max(86_400).optional(),
  /** Decides, and takes nothing. */
  dryRun: z.literal(true).optional(),
  /** Always allows, takes nothing, and records what would have been decided. */
  shadow: z.literal(true).optional(),
}).refine(({ dryRun, shadow }) => dryRun === undefined || shadow === undefined, {
  path: ["shadow"],
  message: "expected no shadow of a dry run",
});

/** An effect that the caller wants to carry out itself. */
export type ActRequest = z.infer<typeof ActRequestSchema>;

export const ActErrorSchema = strictObject({
  code: IdentifierSchema,
  message: boundedText({ min: 1, max: 4096 }),
  /** The effect surely did not happen: the id is free again. */
  nothingHappened: z.literal(true).optional(),
});

/** Why an effect failed, as its caller says. */
export type ActError = z.infer<typeof ActErrorSchema>;

const reported = {
  version: VersionSchema,
  traceId: IdentifierSchema.optional(),
  executionId: IdentifierSchema.optional(),
  spent: AmountsSchema.optional(),
  labels: boundedArray(IdentifierSchema, { max: 64 }).optional(),
};

export const ActOutcomeSchema = z
  .discriminatedUnion("status", [
    strictObject({ status: z.literal("succeeded"), ...reported, output: JsonValueSchema.optional() }),
    strictObject({ status: z.literal("failed"), ...reported, error: ActErrorSchema.optional() }),
  ])
  .refine(({ traceId, executionId }) => traceId !== undefined || executionId !== undefined, {
    path: ["traceId"],
    message: "expected the traceId or the executionId that the act began with",
  });

/** What became of an effect. It names the act by the execution or the trace that the act began with. */
export type ActOutcome = z.infer<typeof ActOutcomeSchema>;

/** What a decision would have been, of an act that only shadows. */
const ActShadowSchema = strictObject({
  status: z.enum(["allowed", "denied", "waiting"]),
  error: ErrorObjectSchema.optional(),
});

const ended = {
  id: IdentifierSchema,
  completedAt: TimestampSchema,
  /** The outcome was reported after the lease. */
  late: z.literal(true).optional(),
};

export const ActStateSchema = z.discriminatedUnion("status", [
  strictObject({
    status: z.literal("allowed"),
    id: IdentifierSchema,
    /** The end of the lease. Absent where nothing was taken. */
    expiresAt: TimestampSchema.optional(),
    grants: boundedArray(IdentifierSchema, { max: 64 }),
    shadow: ActShadowSchema.optional(),
  }),
  strictObject({
    status: z.literal("denied"),
    id: IdentifierSchema,
    error: ErrorObjectSchema,
    requiredAuthority: AuthorityRequestSchema.optional(),
  }),
  strictObject({
    status: z.literal("waiting"),
    id: IdentifierSchema,
    /** Absent, like the fields behind it, when no person was asked. */
    escalationId: IdentifierSchema.optional(),
    requestHash: IdentifierSchema.optional(),
    expiresAt: TimestampSchema.optional(),
    /** Where a person answers. */
    url: z.string().optional(),
  }),
  strictObject({ status: z.literal("succeeded"), ...ended, output: JsonValueSchema.optional() }),
  strictObject({ status: z.literal("failed"), ...ended, error: ActErrorSchema.optional() }),
  strictObject({ status: z.literal("interrupted"), id: IdentifierSchema, expiresAt: TimestampSchema }),
]);

/** Where an act is. `interrupted` means that its effect may have happened, and that nothing is known of it. */
export type ActState = z.infer<typeof ActStateSchema>;
