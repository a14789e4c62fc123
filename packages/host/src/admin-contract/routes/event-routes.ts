import {
  AuditEventSchema,
  IdentifierSchema,
  PrincipalRefSchema,
  TimestampSchema,
  TurnStatusSchema,
} from "turnpike/contracts";
import { z } from "zod";
import { type AdminRoute, allRoles } from "../admin-route.ts";
import { tenant } from "../admin-schemas.ts";
import { serverName, toolName } from "../mcp-schemas.ts";

export const LiveEventSchema = z.discriminatedUnion("kind", [
  z.strictObject({
    kind: z.literal("trail"),
    strand: z.int(),
    sequence: z.int(),
    event: AuditEventSchema,
  }),
  z.strictObject({
    kind: z.literal("turn"),
    actor: PrincipalRefSchema,
    executionId: IdentifierSchema,
    status: TurnStatusSchema,
    events: z.int().meta({ description: "how many events it has" }),
    updatedAt: TimestampSchema,
  }),
  z.strictObject({ kind: z.literal("waiting"), count: z.int().meta({ description: "escalations that wait now" }) }),
  z.strictObject({
    kind: z.literal("withdrawn"),
    tools: z
      .array(
        z.strictObject({
          ...serverName,
          ...toolName,
          at: TimestampSchema.meta({ description: "since when it is known that the server has another definition" }),
        }),
      )
      .meta({
        description:
          "all pinned tools of the tenant's MCP servers that changed, and that are withdrawn until an operator accepts them; told " +
          "at the beginning when there are any, and when that changes",
      }),
  }),
]);

/** The routes that stream what happens in a tenant. */
export const eventRoutes = {
  followEvents: {
    method: "GET",
    path: "/admin/v1/events",
    roles: allRoles,
    about: "tenant",
    errors: ["not_found"],
    summary:
      "Follows what happens in a tenant, as server-sent events: new rows of its audit log, turns that go on, escalations that " +
      "wait, tools of MCP servers that are withdrawn. The id of an event is a cursor: `last-event-id` or `cursor` goes on behind it, and misses no row of the audit log.",
    query: z.strictObject({
      ...tenant,
      cursor: z
        .string()
        .min(1)
        .max(4096)
        .optional()
        .meta({ description: "the id of an event: what comes behind it. From now on unless given" }),
    }),
    response: LiveEventSchema,
    isStream: true,
  },
} as const satisfies Record<string, AdminRoute>;

/** One thing that the stream of a tenant tells. Reviewers are told only how many escalations wait. */
export type LiveEvent = z.infer<typeof LiveEventSchema>;
