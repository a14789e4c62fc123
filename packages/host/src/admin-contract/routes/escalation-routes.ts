import { EscalationRecordSchema, EscalationStatusSchema } from "../records.ts";
import { GrantSchema, IdentifierSchema, TimestampSchema } from "turnpike/contracts";
import { anyTenant, nextPage, page, EscalationAnswerSchema, tenant, TurnWithEventsSchema } from "../admin-schemas.ts";
import { z } from "zod";
import { type AdminRoute, reviewers, allRoles, changeErrors } from "../admin-route.ts";

/** The routes of escalations. */
export const escalationRoutes = {
  listEscalations: {
    method: "GET",
    path: "/admin/v1/escalations",
    roles: allRoles,
    about: "tenants",
    summary: "Lists the escalations of a tenant, newest first; or those of all tenants, one after the other.",
    query: z.strictObject({
      ...anyTenant,
      id: IdentifierSchema.optional(),
      status: EscalationStatusSchema.optional(),
      ...page,
    }),
    response: z.strictObject({ escalations: z.array(EscalationRecordSchema), ...nextPage }),
  },
  showEscalation: {
    method: "GET",
    path: "/admin/v1/escalations/{namespaceId}/{id}",
    roles: allRoles,
    about: "tenant",
    errors: ["not_found"],
    summary: "Reads one escalation with the grant that it is about, and what its turn has done so far.",
    query: z.strictObject({ ...tenant, id: IdentifierSchema }),
    response: z.strictObject({
      escalation: EscalationRecordSchema,
      approvalsNeeded: z.int().meta({ description: "how many different people have to approve it" }),
      grant: GrantSchema.optional().meta({ description: "the one that carries the act, or that was issued" }),
      turn: TurnWithEventsSchema.optional().meta({ description: "the turn that asked" }),
    }),
  },
  approveEscalation: {
    method: "POST",
    path: "/admin/v1/escalations/approve",
    roles: reviewers,
    about: "tenant",
    errors: ["not_found", "conflict", "invariant_violated", ...changeErrors],
    summary:
      "Approves an escalation: issues exactly the authority that it requests, for its one purpose and until it expires; or " +
      "permits the one act that it is about, once.",
    request: EscalationAnswerSchema.extend({
      expiresAt: TimestampSchema.optional().meta({
        description:
          "when the grant ends, after an hour unless given; or the permit, after `escalations.permitMinutes` unless " +
          "given. A grant ends at the latest when the request says, and one that was requested without an end, like a " +
          "permit, after `escalations.maxPermitMinutes` at most",
      }),
      maxUses: z.int().min(1).optional().meta({ description: "of the grant; a permit is for one use" }),
    }),
    response: z.strictObject({
      escalation: EscalationRecordSchema.meta({
        description:
          "still `pending` when a second person has to approve it, too; `dropped` are approvals that no longer count",
      }),
      grant: GrantSchema.optional().meta({ description: "the one that was issued" }),
    }),
  },
  denyEscalation: {
    method: "POST",
    path: "/admin/v1/escalations/deny",
    roles: reviewers,
    about: "tenant",
    errors: ["not_found", "conflict", ...changeErrors],
    summary: "Denies an escalation, with a reason.",
    request: EscalationAnswerSchema.extend({ reason: z.string().min(1).max(4096) }),
    response: z.strictObject({ escalation: EscalationRecordSchema }),
  },
  withdrawEscalation: {
    method: "POST",
    path: "/admin/v1/escalations/withdraw",
    roles: reviewers,
    about: "tenant",
    errors: ["not_found", "conflict", ...changeErrors],
    summary:
      "Withdraws an approval: a permit that was not used yet cannot be used any more, and a grant that it issued is " +
      "revoked. The act is asked about again, under a new id.",
    request: EscalationAnswerSchema.extend({ reason: z.string().min(1).max(4096).optional() }),
    response: z.strictObject({ escalation: EscalationRecordSchema.meta({ description: "with `status` `withdrawn`" }) }),
  },
} as const satisfies Record<string, AdminRoute>;
