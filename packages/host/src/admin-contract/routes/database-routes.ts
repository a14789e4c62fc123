import { TimestampSchema } from "turnpike/contracts";
import { z } from "zod";
import { type AdminRoute, admins, changeErrors } from "../admin-route.ts";

/** The routes of the database. */
export const databaseRoutes = {
  acceptLoss: {
    method: "POST",
    path: "/admin/v1/database/accept-loss",
    roles: admins,
    about: "host",
    summary:
      "Accepts that the database lost rows that were acknowledged, so that every host takes calls and turns again. Ids of the lost time " +
      "are unknown and may run again, and what was revoked then is valid again.",
    request: z.strictObject({
      revokeCredentials: z
        .boolean()
        .meta({ description: "whether every token that hosts made is revoked, yours among them" }),
    }),
    response: z.strictObject({
      noticedAt: TimestampSchema.optional().meta({
        description: "when the loss was noticed; absent when there is none",
      }),
      lostRows: z.int().min(0).meta({ description: "how many rows of audit logs are known to be lost" }),
      tenants: z.int().min(0).meta({ description: "of how many audit logs" }),
      revokedCredentials: z.int().min(0),
    }),
    errors: changeErrors,
  },
} as const satisfies Record<string, AdminRoute>;
