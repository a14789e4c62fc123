import { IdentifierSchema, PrincipalRefSchema, TimestampSchema } from "turnpike/contracts";
import { AccessSchema, ExplanationSchema, tenant } from "../admin-schemas.ts";
import { z } from "zod";
import { type AdminRoute, readers } from "../admin-route.ts";

/** The routes of explanations of decisions. */
export const explanationRoutes = {
  explain: {
    method: "POST",
    path: "/admin/v1/explanations",
    roles: readers,
    about: "tenant",
    isReport: true,
    summary: "Explains how an act would be decided now, or at another instant.",
    request: AccessSchema.extend({
      at: TimestampSchema.optional().meta({
        description:
          "As if it were this instant; now unless given. Grants count as they were or will be then: whether they were issued, " +
          "had begun, had expired or were revoked. Those that retention has removed are unknown. How often grants were used " +
          "and what people said about acts count as they are now. An instant that is over gets no suggestion.",
      }),
    }),
    response: ExplanationSchema,
  },
  explainDenial: {
    method: "POST",
    path: "/admin/v1/explanations/denial",
    roles: readers,
    about: "tenant",
    isReport: true,
    errors: ["not_found", "conflict"],
    summary: "Explains the last denial of a trace: what the audit log has of it, and how the act would be decided now.",
    request: z.strictObject({ ...tenant, traceId: IdentifierSchema, actor: PrincipalRefSchema.optional() }),
    response: ExplanationSchema,
  },
} as const satisfies Record<string, AdminRoute>;
