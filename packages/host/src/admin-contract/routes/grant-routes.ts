import { GrantSchema, IdentifierSchema } from "turnpike/contracts";
import {
  anyTenant,
  GrantEntrySchema,
  GrantStateSchema,
  nextPage,
  page,
  PrincipalTextSchema,
  tenant,
} from "../admin-schemas.ts";
import { z } from "zod";
import { type AdminRoute, admins, readers, changeErrors } from "../admin-route.ts";
import { RegionChangesSchema } from "../region-schemas.ts";
import { deriveInput } from "./derive-input.ts";
import { DecisionPreviewSchema } from "./preview-routes.ts";

/** A grant that is not issued yet: the host says when. */
const GrantDraftSchema = GrantSchema.omit({ namespaceId: true, issuedAt: true, revokedAt: true, metadata: true });

/** The routes of grants. */
export const grantRoutes = {
  createGrant: {
    method: "POST",
    path: "/admin/v1/grants",
    roles: admins,
    about: "tenant",
    errors: ["conflict", "invariant_violated", ...changeErrors],
    status: 201,
    summary: "Issues a grant.",
    request: GrantSchema,
    response: GrantSchema,
  },
  deriveGrant: {
    method: "POST",
    path: "/admin/v1/grants/derive",
    roles: admins,
    about: "tenant",
    errors: ["not_found", "conflict", "invariant_violated", ...changeErrors],
    status: 201,
    summary: "Issues a grant that is no wider than the one it is derived from.",
    request: z.strictObject({ ...tenant, ...deriveInput }),
    response: GrantSchema,
  },
  listGrants: {
    method: "GET",
    path: "/admin/v1/grants",
    roles: readers,
    about: "tenants",
    isReport: ["state", "resource", ["subject", "issuer"], ["subject", "parent"], ["issuer", "parent"]],
    summary: "Lists the grants of a tenant, or of all.",
    query: z.strictObject({
      ...anyTenant,
      id: IdentifierSchema.optional().meta({ description: "only the grant of this id" }),
      subject: PrincipalTextSchema.optional(),
      issuer: PrincipalTextSchema.optional(),
      state: GrantStateSchema.optional(),
      resource: IdentifierSchema.optional().meta({ description: "only grants over this resource namespace" }),
      parent: IdentifierSchema.optional().meta({ description: "only grants that were derived directly from this one" }),
      ...page,
    }),
    response: z.strictObject({ grants: z.array(GrantEntrySchema), ...nextPage }),
  },
  revokeGrant: {
    method: "POST",
    path: "/admin/v1/grants/revoke",
    roles: admins,
    about: "tenant",
    errors: ["not_found", "conflict", ...changeErrors],
    summary:
      "Revokes a grant from the next call on, and names the grants derived from it, which become invalid with it.",
    request: z.strictObject({ ...tenant, id: IdentifierSchema }),
    response: z.strictObject({
      revoked: IdentifierSchema,
      descendants: z.array(GrantSchema).meta({ description: "the nearest 500" }),
      hasMore: z.boolean().optional().meta({ description: "whether more were derived from it than are named" }),
    }),
  },
  applyGrants: {
    method: "POST",
    path: "/admin/v1/grants/apply",
    roles: admins,
    about: "tenant",
    isReport: ["dryRun"],
    errors: ["conflict", "invariant_violated", ...changeErrors],
    summary:
      "Issues and revokes several grants of a tenant, all of them or none. With `dryRun` it changes nothing, and says whether " +
      "that could be done and what it would take with it.",
    request: z
      .strictObject({
        ...tenant,
        state: IdentifierSchema.optional().meta({
          description:
            "`state` of the answer that this change rests on: it is refused when the grants are others by now",
        }),
        issue: z
          .array(GrantDraftSchema)
          .max(1000)
          .optional()
          .meta({ description: "grants to issue now; a parent is a grant of the tenant, or one of these" }),
        revoke: z.array(IdentifierSchema).max(10_000).optional().meta({ description: "ids of grants to revoke now" }),
        dryRun: z.boolean().optional(),
        preview: z.boolean().optional().meta({
          description:
            "with `dryRun`: also hold it against the last 1,000 decisions, as `/admin/v1/grants/preview` does",
        }),
      })
      .refine(({ dryRun, state }) => dryRun === true || state !== undefined, {
        path: ["state"],
        message: "expected the state that a dry run answered",
      })
      .refine(({ dryRun, preview }) => dryRun === true || preview !== true, {
        path: ["preview"],
        message: "expected only together with dryRun",
      }),
    response: z.strictObject({
      state: z
        .string()
        .meta({ description: "identifies the grants that there are and are not revoked, after the change" }),
      issued: z.array(IdentifierSchema),
      revoked: z.array(IdentifierSchema),
      descendants: z.array(GrantSchema).meta({
        description: "grants that were derived from revoked ones and are invalid with them: the nearest 500",
      }),
      hasMore: z.boolean().optional().meta({ description: "whether there are more of these than are named" }),
      preview: DecisionPreviewSchema.optional(),
      regions: RegionChangesSchema.optional(),
    }),
  },
} as const satisfies Record<string, AdminRoute>;
