import { IdentifierSchema, NamespaceUpdateSchema, PrincipalRefSchema } from "turnpike/contracts";
import { anyTenant, nextPage, page, PrincipalTextSchema, SettingsSchema, tenant } from "../admin-schemas.ts";
import { z } from "zod";
import { type AdminRoute, admins, readers, changeErrors } from "../admin-route.ts";

/** The routes of tool namespaces. */
export const namespaceRoutes = {
  readNamespaces: {
    method: "GET",
    path: "/admin/v1/namespaces",
    roles: readers,
    about: "tenant",
    summary: "Reads which tool namespaces are on for an actor.",
    query: z.strictObject({ ...tenant, actor: PrincipalTextSchema }),
    response: SettingsSchema,
  },
  readNames: {
    method: "GET",
    path: "/admin/v1/names",
    roles: readers,
    about: "tenant",
    summary:
      "Lists the names that mean something on this host: what is not among them, in a grant for example, is probably mistyped.",
    query: z.strictObject(tenant),
    response: z.strictObject({
      tenant: z.strictObject({
        isKnown: z.boolean().meta({ description: "whether there is anything of it" }),
        nearest: IdentifierSchema.optional().meta({
          description: "the tenant that was probably meant, if it is unknown",
        }),
      }),
      toolNamespaces: z.array(IdentifierSchema),
      resources: z
        .array(z.strictObject({ namespace: IdentifierSchema, actions: z.array(IdentifierSchema) }))
        .meta({ description: "those that this host acts on, and those that grants of the tenant name" }),
    }),
  },
  listNamespaces: {
    method: "GET",
    path: "/admin/v1/namespaces/settings",
    roles: readers,
    about: "tenants",
    summary: "Lists which tool namespaces are on for the actors of a tenant, or of all, that have any settings.",
    query: z.strictObject({
      ...anyTenant,
      actor: PrincipalTextSchema.optional().meta({ description: "only those of this actor, as `kind:id`" }),
      ...page,
    }),
    response: z.strictObject({ settings: z.array(SettingsSchema), ...nextPage }),
  },
  changeNamespaces: {
    method: "POST",
    path: "/admin/v1/namespaces",
    roles: admins,
    about: "tenant",
    errors: ["conflict", ...changeErrors],
    summary:
      "Switches tool namespaces of an actor on and off, unless another operator changed them since `expectedVersion`.",
    request: z.strictObject({
      ...tenant,
      actor: PrincipalRefSchema,
      update: NamespaceUpdateSchema,
      expectedVersion: IdentifierSchema.optional(),
    }),
    response: SettingsSchema,
  },
} as const satisfies Record<string, AdminRoute>;
