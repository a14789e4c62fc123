import { PrincipalRefSchema } from "turnpike/contracts";
import { z } from "zod";
import { type AdminRoute, allRoles } from "../admin-route.ts";
import { tenant, wholeNumber } from "../admin-schemas.ts";

const FoundSchema = z.strictObject({
  kind: z.enum(["principal", "grant", "turn", "escalation", "credential", "tool", "resource", "trace"]),
  id: z.string().meta({ description: "an id; of a principal `kind:id`, of a resource its namespace and its path" }),
  about: z.string().optional().meta({ description: "what it is, in a few words" }),
  actor: PrincipalRefSchema.optional().meta({
    description: "of a turn, whose: ids belong to the actor who chose them",
  }),
});

/** The route that finds things by a part of their names. */
export const searchRoutes = {
  search: {
    method: "GET",
    path: "/admin/v1/search",
    roles: allRoles,
    about: "tenant",
    isReport: true,
    summary:
      "Finds principals, grants, turns, escalations, credentials, tools, resources and traces of a tenant whose name is a text " +
      "or contains it, as far as the role may read them. A whole id is always found; a part of one among so many.",
    query: z.strictObject({
      ...tenant,
      text: z.string().trim().min(1).max(512).meta({ description: "a name, or a part of one, in any case" }),
      limit: wholeNumber(1, 100).prefault(20).meta({ description: "how many at most" }),
    }),
    response: z.strictObject({
      found: z.array(FoundSchema).meta({ description: "what is named exactly so first, then what begins so" }),
      isPartial: z
        .boolean()
        .optional()
        .meta({ description: "whether there is more than was read, or than fits into the limit" }),
    }),
  },
} as const satisfies Record<string, AdminRoute>;

/** Something that a search found. */
export type Found = z.infer<typeof FoundSchema>;
