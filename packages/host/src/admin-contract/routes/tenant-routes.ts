import { IdentifierSchema } from "turnpike/contracts";
import { tenant } from "../admin-schemas.ts";
import { z } from "zod";
import { type AdminRoute, admins, changeErrors } from "../admin-route.ts";

/** The routes of tenants. */
export const tenantRoutes = {
  deleteTenant: {
    method: "POST",
    path: "/admin/v1/tenants/delete",
    roles: admins,
    about: "host",
    errors: ["not_found", ...changeErrors],
    summary:
      "Deletes a tenant: its calls are refused at once, and what it has is removed in the background. Asked again, says whether that is finished.",
    request: z.strictObject({
      ...tenant,
      confirm: IdentifierSchema.meta({ description: "the tenant's name once more" }),
    }),
    response: z.strictObject({ namespaceId: IdentifierSchema, isFinished: z.boolean() }),
  },
} as const satisfies Record<string, AdminRoute>;
