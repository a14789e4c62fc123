import {
  InstantSchema,
  OperatedTurnSchema,
  PrincipalTextSchema,
  tenant,
  turnName,
  turnPage,
  TurnStatusesSchema,
  TurnWithEventsSchema,
} from "../admin-schemas.ts";
import { z } from "zod";
import { type AdminRoute, admins, readers, changeErrors } from "../admin-route.ts";

/** The routes of turns. */
export const turnRoutes = {
  listAllTurns: {
    method: "GET",
    path: "/admin/v1/turns",
    roles: readers,
    about: "tenants",
    summary: "Lists the turns of all tenants, or of one, newest first.",
    query: z.strictObject({
      namespaceId: tenant.namespaceId.optional(),
      status: TurnStatusesSchema.optional(),
      actor: PrincipalTextSchema.optional().meta({
        description: "only those that this principal started, as `kind:id`; together with a tenant",
      }),
      from: InstantSchema.optional().meta({ description: "only those that started then or later" }),
      until: InstantSchema.optional().meta({ description: "only those that started before" }),
      ...turnPage,
    }),
    response: z.strictObject({
      turns: z.array(OperatedTurnSchema),
      next: z.string().optional().meta({ description: "asks for the next page as `before`; absent at the end" }),
    }),
  },
  inspectTurn: {
    method: "GET",
    path: "/admin/v1/turns/{namespaceId}/{executionId}",
    roles: readers,
    about: "tenant",
    errors: ["not_found"],
    summary: "Reads where a turn is, and what has happened in it so far.",
    query: z.strictObject(turnName),
    response: TurnWithEventsSchema,
  },
  cancelAnyTurn: {
    method: "POST",
    path: "/admin/v1/turns/{namespaceId}/{executionId}/cancel",
    roles: admins,
    about: "tenant",
    errors: ["not_found", ...changeErrors],
    summary: "Ends a turn before its next step. One that has ended stays as it is.",
    query: z.strictObject(turnName),
    response: OperatedTurnSchema,
  },
} as const satisfies Record<string, AdminRoute>;
