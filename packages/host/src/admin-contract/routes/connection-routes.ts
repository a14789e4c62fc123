import { GrantSchema, IdentifierSchema, PrincipalRefSchema, PurposeSchema, TimestampSchema } from "turnpike/contracts";
import { z } from "zod";
import { nextPage, page, tenant } from "../admin-schemas.ts";
import { type AdminRoute, admins, changeErrors, readers } from "../admin-route.ts";

export const ConnectionSchema = z.strictObject({
  ...tenant,
  id: IdentifierSchema.meta({ description: "its actor is `agent:<id>`" }),
  principal: PrincipalRefSchema.meta({ description: "the person for whom it acts" }),
  clientId: IdentifierSchema,
  clientName: z.string().meta({ description: "of a client that registered itself: what it says of itself" }),
  redirect: z.string().meta({ description: "where the client is answered" }),
  purpose: PurposeSchema,
  createdAt: TimestampSchema,
  changedAt: TimestampSchema.meta({ description: "when the person last changed what it may do" }),
  lastUsedAt: TimestampSchema.optional().meta({
    description: "to the minute; absent when it was never used, or has ended",
  }),
  endedAt: TimestampSchema.optional(),
});

const one = z.strictObject({ ...tenant, id: IdentifierSchema });

/** The routes about clients that act for people. */
export const connectionRoutes = {
  listConnections: {
    method: "GET",
    path: "/admin/v1/connections",
    roles: readers,
    about: "tenants",
    summary: "Lists the clients that act for people, and those that did.",
    query: z.strictObject({ namespaceId: IdentifierSchema.optional(), ...page }),
    response: z.strictObject({ connections: z.array(ConnectionSchema), ...nextPage }),
  },
  showConnection: {
    method: "GET",
    path: "/admin/v1/connections/show",
    roles: readers,
    about: "tenant",
    errors: ["not_found"],
    summary: "Shows a client that acts for a person, and the grants that the person gave it, 100 at most.",
    query: one,
    response: z.strictObject({ connection: ConnectionSchema, grants: z.array(GrantSchema) }),
  },
  revokeConnection: {
    method: "POST",
    path: "/admin/v1/connections/revoke",
    roles: admins,
    about: "tenant",
    errors: ["not_found", "conflict", ...changeErrors],
    summary: "Ends a client that acts for a person at once, and for good: its tokens, and what the person granted it.",
    request: one,
    response: z.strictObject({ revoked: IdentifierSchema }),
  },
} as const satisfies Record<string, AdminRoute>;
