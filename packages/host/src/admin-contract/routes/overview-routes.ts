import { IdentifierSchema, TimestampSchema } from "turnpike/contracts";
import { z } from "zod";
import { type AdminRoute, allRoles, readers } from "../admin-route.ts";
import { nextPage, page, tenant } from "../admin-schemas.ts";

const MinuteSchema = z.strictObject({
  at: TimestampSchema.meta({ description: "when the minute began" }),
  allowed: z.int().meta({ description: "decisions that allowed" }),
  denied: z.int().meta({ description: "decisions that denied" }),
  failed: z.int().meta({ description: "what was allowed and failed" }),
});

/** The routes that say how things are, at a glance. */
export const overviewRoutes = {
  listTenants: {
    method: "GET",
    path: "/admin/v1/tenants",
    roles: allRoles,
    about: "tenants",
    summary: "Lists the tenants that there is anything of, with how many escalations wait in each.",
    query: z.strictObject({ namespaceId: IdentifierSchema.optional(), ...page }),
    response: z.strictObject({
      tenants: z.array(z.strictObject({ ...tenant, waiting: z.int() })),
      ...nextPage,
    }),
  },
  readActivity: {
    method: "GET",
    path: "/admin/v1/activity",
    roles: allRoles,
    about: "tenant",
    summary: "Counts what happened in a tenant in the last hour, minute by minute, and what waits now.",
    query: z.strictObject(tenant),
    response: z.strictObject({
      minutes: z.array(MinuteSchema).meta({ description: "the last 60, the oldest first" }),
      reasons: z
        .array(z.strictObject({ reason: z.string(), count: z.int() }))
        .meta({ description: "why things were denied or failed, the most frequent first; 10 at most" }),
      isPartial: z
        .boolean()
        .optional()
        .meta({ description: "whether there was more in the hour than was counted; the newest was" }),
      waiting: z.int().meta({ description: "escalations that wait for an answer" }),
      turns: z.strictObject({ running: z.int(), waiting: z.int() }),
    }),
  },
  listHosts: {
    method: "GET",
    path: "/admin/v1/hosts",
    roles: readers,
    about: "host",
    summary: "Lists the hosts that run on this database.",
    query: z.strictObject({}),
    response: z.strictObject({
      hosts: z.array(
        z.strictObject({
          id: z.int(),
          startedAt: TimestampSchema,
          isThis: z.boolean().meta({ description: "whether it is the one that answers" }),
          turns: z.int().meta({ description: "how many turns run there" }),
        }),
      ),
      version: z.string().meta({ description: "of the one that answers" }),
      database: z.enum(["embedded", "postgresql"]),
    }),
  },
  readAuditHeads: {
    method: "GET",
    path: "/admin/v1/audit/heads",
    roles: readers,
    about: "tenant",
    summary: "Reads where the chains of a tenant's audit log end, and the last signed checkpoint.",
    query: z.strictObject(tenant),
    response: z.strictObject({
      heads: z.array(z.strictObject({ strand: z.int(), sequence: z.int(), hash: z.string() })),
      checkpoint: z
        .strictObject({ sequence: z.int(), at: TimestampSchema })
        .optional()
        .meta({ description: "the last one of this host; absent before the first" }),
    }),
  },
} as const satisfies Record<string, AdminRoute>;
