import { IdentifierSchema } from "turnpike/contracts";
import { z } from "zod";
import { type AdminRoute, admins, changeErrors, readers } from "../admin-route.ts";
import { anyTenant } from "../admin-schemas.ts";
import { InvariantSchema, violationsShape } from "../invariant-schemas.ts";

const oneOrAll = {
  namespaceId: IdentifierSchema.optional().meta({
    description: "the tenant; every tenant without it, which only operators of all tenants may say",
  }),
};

/** The routes of rules about grants. */
export const invariantRoutes = {
  addInvariant: {
    method: "POST",
    path: "/admin/v1/invariants",
    roles: admins,
    about: "tenant",
    errors: ["conflict", "invariant_violated", ...changeErrors],
    status: 201,
    summary:
      "Adds a rule that no write of grants may break from now on. It is refused while grants break it, unless it is only to be " +
      "reported on.",
    request: InvariantSchema,
    response: z.strictObject({ invariant: InvariantSchema, ...violationsShape }),
  },
  listInvariants: {
    method: "GET",
    path: "/admin/v1/invariants",
    roles: readers,
    about: "tenants",
    summary: "Lists the rules about the grants of a tenant, with those about the grants of every tenant.",
    query: z.strictObject(anyTenant),
    response: z.strictObject({ invariants: z.array(InvariantSchema) }),
  },
  removeInvariant: {
    method: "POST",
    path: "/admin/v1/invariants/remove",
    roles: admins,
    about: "tenant",
    errors: ["not_found", ...changeErrors],
    summary: "Removes a rule about grants.",
    request: z.strictObject({ ...oneOrAll, id: IdentifierSchema }),
    response: z.strictObject({ removed: IdentifierSchema }),
  },
  checkInvariants: {
    method: "POST",
    path: "/admin/v1/invariants/check",
    roles: readers,
    about: "tenants",
    isReport: true,
    summary:
      "Checks the grants of a tenant, or of all, against every rule about them, those that are only reported on included.",
    request: z.strictObject(anyTenant),
    response: z.strictObject(violationsShape),
  },
} as const satisfies Record<string, AdminRoute>;
