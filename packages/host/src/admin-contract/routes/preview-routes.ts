import {
  ActionSchema,
  GrantSchema,
  IdentifierSchema,
  PrincipalRefSchema,
  PurposeSchema,
  ResourceRefSchema,
  TimestampSchema,
} from "turnpike/contracts";
import { z } from "zod";
import { type AdminRoute, readers } from "../admin-route.ts";
import { tenant } from "../admin-schemas.ts";
import { RegionChangesSchema } from "../region-schemas.ts";
import { deriveInput } from "./derive-input.ts";

const VerdictSchema = z.strictObject({ allowed: z.boolean(), reasonCode: z.string() });

const decisionPreview = {
  looked: z.int().meta({
    description: "how many decisions it was held against: the last 1,000, or as many as there was time for",
  }),
  since: TimestampSchema.optional().meta({ description: "when the oldest of them was" }),
  changed: z.array(
    z.strictObject({
      at: TimestampSchema,
      traceId: IdentifierSchema,
      actor: PrincipalRefSchema,
      authority: PrincipalRefSchema.optional(),
      owner: PrincipalRefSchema,
      purpose: PurposeSchema,
      action: ActionSchema,
      resource: ResourceRefSchema,
      tool: IdentifierSchema.optional(),
      count: z.int().meta({ description: "how many decisions were about this very act" }),
      before: VerdictSchema.meta({ description: "how it is decided without the change" }),
      after: VerdictSchema.meta({ description: "how it would be decided with it" }),
    }),
  ),
};

/** Which of the last decisions a change of grants would change. */
export const DecisionPreviewSchema = z.strictObject(decisionPreview);

/** The routes that say what a change would do, and change nothing. */
export const previewRoutes = {
  previewGrant: {
    method: "POST",
    path: "/admin/v1/grants/preview",
    roles: readers,
    about: "tenant",
    isReport: true,
    errors: ["not_found"],
    summary:
      "Says what a draft of a grant, or the revocation of one, opens and closes for all requests, and which of the last 1,000 " +
      "decisions of the audit log would be others now. Changes nothing.",
    request: z
      .strictObject({
        ...tenant,
        draft: GrantSchema.optional().meta({ description: "a grant that would be issued" }),
        derive: z.strictObject(deriveInput).optional().meta({ description: "a grant that would be derived" }),
        revoke: IdentifierSchema.optional().meta({ description: "the id of a grant that would be revoked" }),
      })
      .refine(({ draft, derive, revoke }) => [draft, derive, revoke].filter((one) => one !== undefined).length === 1, {
        path: ["draft"],
        message: "expected one of draft, derive and revoke",
      }),
    response: z.strictObject({
      descendants: z.array(GrantSchema).meta({ description: "what a revocation takes with it: the nearest 500" }),
      hasMore: z.boolean().optional().meta({ description: "whether more were derived from it than are named" }),
      problem: z.string().optional().meta({
        description: "why a draft could not be issued as it is, or a grant not be revoked; nothing was decided then",
      }),
      ...decisionPreview,
      regions: RegionChangesSchema.optional(),
    }),
  },
} as const satisfies Record<string, AdminRoute>;
