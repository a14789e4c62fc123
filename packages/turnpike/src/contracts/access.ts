import { z } from "zod";
import { boundedArray, strictObject } from "../internal/index.ts";
import { AmountsSchema } from "./amount.ts";
import { AuthorityRequestSchema } from "./grant.ts";
import { JsonObjectSchema } from "./json.ts";
import { PrincipalRefSchema } from "./principal.ts";
import { ResourceRefSchema } from "./resource.ts";
import { ActionSchema, IdentifierSchema, PurposeSchema, TimestampSchema } from "./scalars.ts";

export const RequestPartySchema = strictObject({ actor: PrincipalRefSchema, credential: IdentifierSchema });

/** The person or program behind a request that is not its actor, and the credential that was used. */
export type RequestParty = z.infer<typeof RequestPartySchema>;

export const AccessContextSchema = strictObject({
  actor: PrincipalRefSchema,
  authority: PrincipalRefSchema,
  enabledToolNamespaces: boundedArray(IdentifierSchema, { max: 256 }),
  executionId: IdentifierSchema.optional(),
  namespaceId: IdentifierSchema,
  now: TimestampSchema,
  owner: PrincipalRefSchema,
  purpose: PurposeSchema,
  traceId: IdentifierSchema,
  /** The operator who tries as the actor what the actor could do. */
  triedBy: RequestPartySchema.optional(),
  /** The enforcement point that asks about the actor. */
  askedBy: RequestPartySchema.optional(),
  /** The credential of the actor's request, as the host knows it. It decides nothing; what was asked with it ends with it. */
  credential: IdentifierSchema.optional(),
});

/** Who acts, on whose authority, over whose resources, why and when: built by the host, trusted by the kernel. */
export type AccessContext = z.infer<typeof AccessContextSchema>;

export const DiscoveryContextSchema = AccessContextSchema.partial({ authority: true });

/** An access context that may leave `authority` open: enough to list and to read, not to act. */
export type DiscoveryContext = z.infer<typeof DiscoveryContextSchema>;

export const AuthorizationRequestSchema = strictObject({ action: ActionSchema, resource: ResourceRefSchema });

/** One act on one resource. */
export type AuthorizationRequest = z.infer<typeof AuthorizationRequestSchema>;

export const AuthorizeRequestSchema = strictObject({
  ...AuthorizationRequestSchema.shape,
  /** What the act would cost. A grant with budgets covers no act that does not say so. */
  spends: AmountsSchema.optional(),
});

/** A question whether one act on one resource would be allowed. */
export type AuthorizeRequest = z.infer<typeof AuthorizeRequestSchema>;

export const AuthorizationDecisionSchema = strictObject({
  allowed: z.boolean(),
  reasonCode: IdentifierSchema,
  matchedGrantId: IdentifierSchema.optional(),
  metadata: JsonObjectSchema.optional(),
  requiredAuthority: AuthorityRequestSchema.optional(),
});

/** The answer to an authorization request; a denial says why. */
export type AuthorizationDecision = z.infer<typeof AuthorizationDecisionSchema>;
