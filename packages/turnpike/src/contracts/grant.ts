import { z } from "zod";
import { boundedArray, parseInstant, strictObject } from "../internal/index.ts";
import { BudgetSchema } from "./budget.ts";
import { JsonObjectSchema } from "./json.ts";
import { PrincipalRefSchema } from "./principal.ts";
import { ResourceRefSchema } from "./resource.ts";
import { ActionSchema, IdentifierSchema, PurposeSchema, TimestampSchema } from "./scalars.ts";

export const ScopeSchema = z.enum(["exact", "descendants"]);

/** Whether a path means itself alone, or itself and everything below. */
export type Scope = z.infer<typeof ScopeSchema>;

export const CapabilitySchema = strictObject({
  resource: ResourceRefSchema,
  actions: boundedArray(ActionSchema, { min: 1, max: 64 }),
  scope: ScopeSchema,
  /** Each act under it needs a person's approval of exactly that act. */
  approval: z.literal("each").optional(),
});

/** What may be done where. `"*"` among the actions covers every action; nothing else expands. */
export type Capability = z.infer<typeof CapabilitySchema>;

const CapabilitiesSchema = boundedArray(CapabilitySchema, { min: 1, max: 64 });

export const ConstraintsSchema = strictObject({
  purposes: boundedArray(PurposeSchema, { min: 1, max: 64 }).optional(),
  notBefore: TimestampSchema.optional(),
  expiresAt: TimestampSchema.optional(),
  maxUses: z.int().min(1).optional(),
  delegationDepth: z.int().min(0).optional(),
  /** All of them hold, also several of the same unit. */
  budgets: boundedArray(BudgetSchema, { min: 1, max: 4 }).optional(),
}).refine(({ notBefore, expiresAt }) => !isAfter(notBefore, expiresAt), {
  path: ["notBefore"],
  message: "expected a time that is not after expiresAt",
});

/** Conditions on a grant; each narrows, none widens. */
export type Constraints = z.infer<typeof ConstraintsSchema>;

function isAfter(start: string | undefined, end: string | undefined): boolean {
  const [from, to] = [instantOf(start), instantOf(end)];
  return from !== undefined && to !== undefined && from > to;
}

function instantOf(text: string | undefined): number | undefined {
  return text === undefined ? undefined : parseInstant(text);
}

export const GrantSchema = strictObject({
  id: IdentifierSchema,
  namespaceId: IdentifierSchema,
  subject: PrincipalRefSchema,
  issuer: PrincipalRefSchema,
  capabilities: CapabilitiesSchema,
  constraints: ConstraintsSchema,
  issuedAt: TimestampSchema,
  revokedAt: TimestampSchema.optional(),
  parentId: IdentifierSchema.optional(),
  metadata: JsonObjectSchema.optional(),
});

/** The only authority there is. */
export type Grant = z.infer<typeof GrantSchema>;

export const AuthorityRequestInputSchema = strictObject({
  capabilities: CapabilitiesSchema,
  constraints: ConstraintsSchema.optional(),
  metadata: JsonObjectSchema.optional(),
});

/** The authority that is asked for. Who asks, for whom and why is set by the kernel, never by the requester. */
export type AuthorityRequestInput = z.infer<typeof AuthorityRequestInputSchema>;

export const AuthorityRequestSchema = strictObject({
  id: IdentifierSchema,
  namespaceId: IdentifierSchema,
  owner: PrincipalRefSchema,
  requester: PrincipalRefSchema,
  purpose: PurposeSchema,
  requestedAt: TimestampSchema,
  ...AuthorityRequestInputSchema.shape,
});

/** Something to approve: it asks for authority and is none. */
export type AuthorityRequest = z.infer<typeof AuthorityRequestSchema>;
