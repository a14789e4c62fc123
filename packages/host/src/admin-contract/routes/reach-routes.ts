import {
  ActionSchema,
  GrantSchema,
  IdentifierSchema,
  PathSchema,
  PrincipalRefSchema,
  PurposeSchema,
  ReachEntrySchema,
  TimestampSchema,
} from "turnpike/contracts";
import { z } from "zod";
import { type AdminRoute, readers } from "../admin-route.ts";
import { anyTenant, nextPage, page, PrincipalTextSchema, ResourceTextSchema, tenant } from "../admin-schemas.ts";
import { RegionSchema } from "../region-schemas.ts";

/** The routes about who can do what. */
export const reachRoutes = {
  listPrincipals: {
    method: "GET",
    path: "/admin/v1/principals",
    roles: readers,
    about: "tenants",
    isReport: ["search"],
    summary: "Lists the principals that the grants and credentials of a tenant, or of all, name, by `kind:id`.",
    query: z.strictObject({
      ...anyTenant,
      search: z.string().min(1).max(256).optional().meta({ description: "only those whose `kind:id` contains this" }),
      ...page,
    }),
    response: z.strictObject({
      principals: z.array(
        z.strictObject({
          ...tenant,
          principal: PrincipalRefSchema,
          held: z.int().meta({ description: "grants that it is the subject of" }),
          issued: z.int().meta({ description: "grants that it issued" }),
          credentials: z.int().meta({ description: "credentials that act as it and were not revoked" }),
        }),
      ),
      ...nextPage,
    }),
  },
  readReach: {
    method: "GET",
    path: "/admin/v1/reach",
    roles: readers,
    about: "tenant",
    isReport: true,
    errors: [{ status: 503, code: "usage_store_unavailable" }],
    summary: "Reads everywhere that a principal may act now, and the grants that say so.",
    query: z.strictObject({
      ...tenant,
      actor: PrincipalTextSchema,
      authority: PrincipalTextSchema.optional().meta({
        description: "only what grants of this principal allow, as `kind:id`; of every issuer unless given",
      }),
      owner: PrincipalTextSchema.optional().meta({
        description: "only over what belongs to this principal, as `kind:id`; to any principal unless given",
      }),
      purpose: PurposeSchema.optional().meta({
        description: "what for; unless given, only what grants allow that are good for any purpose",
      }),
    }),
    response: z.strictObject({
      reach: z.array(
        ReachEntrySchema.extend({
          owner: PrincipalRefSchema.optional().meta({
            description: "whose place, when the grant says so; else that of the one whom the principal acts for",
          }),
          grantIds: z.array(IdentifierSchema),
          approval: z.literal("each").optional().meta({ description: "each act needs an approval of its own" }),
        }),
      ),
    }),
  },
  readEverReach: {
    method: "POST",
    path: "/admin/v1/reach/ever",
    roles: readers,
    about: "tenant",
    isReport: true,
    summary:
      "Says everything that a principal could ever do, or who could ever reach a resource: by what is held now or later, by what " +
      "holders may hand on, and once a person approves.",
    request: z
      .strictObject({
        ...tenant,
        actor: PrincipalRefSchema.optional(),
        resource: z.strictObject({ namespace: IdentifierSchema, path: PathSchema }).optional(),
        action: ActionSchema.optional().meta({ description: "any action unless given" }),
      })
      .refine(({ actor, resource }) => (actor === undefined) !== (resource === undefined), {
        path: ["actor"],
        message: "expected this or resource, and not both",
      }),
    response: z.strictObject({
      at: TimestampSchema.meta({ description: "requests at this instant or later count" }),
      reach: z.array(
        RegionSchema.extend({
          subject: z.union([PrincipalRefSchema, z.literal("*")]).meta({
            description: "who acts; `*` is any principal, as the holder chooses",
          }),
          how: z.enum(["held", "derived", "approval"]),
          way: z
            .array(IdentifierSchema)
            .meta({ description: "the shortest chain of grants, from the first to the last" }),
        }),
      ),
      more: z.literal(true).optional().meta({ description: "there are more regions than these" }),
    }),
  },
  listReachers: {
    method: "GET",
    path: "/admin/v1/reach/resource",
    roles: readers,
    about: "tenant",
    isReport: true,
    summary: "Lists who can reach a resource now, and by which chain of grants.",
    query: z.strictObject({
      ...tenant,
      resource: ResourceTextSchema,
      owner: PrincipalTextSchema.optional().meta({
        description: "whose resource, as `kind:id`; any principal's unless given",
      }),
      action: ActionSchema.optional().meta({ description: "any action unless given" }),
      ...page,
    }),
    response: z.strictObject({
      reachers: z.array(
        z.strictObject({
          principal: PrincipalRefSchema,
          owner: PrincipalRefSchema.optional().meta({
            description: "whose resource, when the grant says so; else that of the one whom the principal acts for",
          }),
          actions: z.array(ActionSchema),
          approval: z.literal("each").optional(),
          purposes: z.array(PurposeSchema).optional().meta({ description: "for any purpose without it" }),
          expiresAt: TimestampSchema.optional().meta({ description: "until the grant is revoked without it" }),
          chain: z.array(GrantSchema).meta({ description: "the grant, its parent, and so on up to the first" }),
        }),
      ),
      ...nextPage,
    }),
  },
} as const satisfies Record<string, AdminRoute>;
