import { IdentifierSchema, PrincipalRefSchema, TimestampSchema } from "turnpike/contracts";
import { z } from "zod";
import { nextPage, page, tenant } from "../admin-schemas.ts";
import { type AdminRoute, admins, changeErrors, readers } from "../admin-route.ts";

export const PersonSchema = z.strictObject({
  ...tenant,
  principal: PrincipalRefSchema,
  kind: z.enum(["person", "operator"]),
  name: z.string().optional().meta({ description: "as the identity provider says it; anyone may have the same" }),
  issuer: z.string().meta({ description: "the identity provider that they sign in with" }),
  credentialId: IdentifierSchema.meta({ description: "what their sessions are for; it has no token" }),
  firstSignInAt: TimestampSchema,
  lastSignInAt: TimestampSchema,
  isRevoked: z.boolean().meta({ description: "whether they are not let in until they are restored" }),
});

/** The routes about those who sign in with an identity provider. */
export const personRoutes = {
  listPeople: {
    method: "GET",
    path: "/admin/v1/people",
    roles: readers,
    about: "tenants",
    summary: "Lists who has signed in with an identity provider.",
    query: z.strictObject({ namespaceId: IdentifierSchema.optional(), ...page }),
    response: z.strictObject({ people: z.array(PersonSchema), ...nextPage }),
  },
  revokePerson: {
    method: "POST",
    path: "/admin/v1/people/revoke",
    roles: admins,
    about: "tenant",
    errors: ["not_found", "conflict", ...changeErrors],
    summary:
      "Ends the sessions of a person at once, and the clients that act for them, and lets them in no more, whatever their provider " +
      "says. What they hold stays: revoke it as grants.",
    request: z.strictObject({ ...tenant, principal: PrincipalRefSchema }),
    response: z.strictObject({ revoked: IdentifierSchema, sessions: z.int(), connections: z.int() }),
  },
  restorePerson: {
    method: "POST",
    path: "/admin/v1/people/restore",
    roles: admins,
    about: "tenant",
    errors: ["not_found", "conflict", ...changeErrors],
    summary: "Lets a person in again who was revoked. What was granted at their first sign-in is not granted again.",
    request: z.strictObject({ ...tenant, principal: PrincipalRefSchema }),
    response: z.strictObject({ restored: PrincipalRefSchema }),
  },
} as const satisfies Record<string, AdminRoute>;
