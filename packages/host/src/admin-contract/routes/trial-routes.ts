import {
  IdentifierSchema,
  JsonObjectSchema,
  PurposeSchema,
  ToolDescriptorSchema,
  ToolResultSchema,
} from "turnpike/contracts";
import { z } from "zod";
import { type AdminRoute, admins, readers, changeErrors } from "../admin-route.ts";
import { OperatedTurnSchema, tenant } from "../admin-schemas.ts";

const asCredential = {
  ...tenant,
  credentialId: IdentifierSchema.meta({
    description: "whose access it is done with; nothing more is allowed than to its bearer",
  }),
  purpose: PurposeSchema.optional().meta({ description: "the first of the credential unless given" }),
};

/** The routes with which an operator tries what the bearer of a credential could do. */
export const trialRoutes = {
  listOfferedTools: {
    method: "GET",
    path: "/admin/v1/tools",
    roles: readers,
    about: "tenant",
    errors: ["not_found", "conflict", "purpose_not_allowed"],
    summary: "Lists the tools that the bearer of a credential is offered now.",
    query: z.strictObject(asCredential),
    response: z.strictObject({ tools: z.array(ToolDescriptorSchema) }),
  },
  tryTool: {
    method: "POST",
    path: "/admin/v1/tools/try",
    roles: admins,
    about: "tenant",
    errors: ["not_found", "conflict", "purpose_not_allowed", ...changeErrors],
    summary:
      "Calls a tool as the bearer of a credential would, through the same gate. The audit log names the operator.",
    request: z.strictObject({ ...asCredential, tool: IdentifierSchema, arguments: JsonObjectSchema }),
    response: ToolResultSchema,
  },
  startTrialTurn: {
    method: "POST",
    path: "/admin/v1/turns",
    roles: admins,
    about: "tenant",
    errors: ["not_found", "conflict", "purpose_not_allowed", "sender_not_allowed", "overloaded", ...changeErrors],
    status: 201,
    summary: "Starts a turn as the bearer of a credential would, in the background. The audit log names the operator.",
    request: z.strictObject({
      ...asCredential,
      agent: IdentifierSchema.meta({ description: "the id of the agent" }),
      payload: JsonObjectSchema.meta({ description: "the message that the turn is given" }),
    }),
    response: OperatedTurnSchema,
  },
} as const satisfies Record<string, AdminRoute>;
