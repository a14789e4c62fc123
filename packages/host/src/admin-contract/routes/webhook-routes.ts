import { IdentifierSchema, TimestampSchema } from "turnpike/contracts";
import { z } from "zod";
import { admins, type AdminRoute, changeErrors, readers } from "../admin-route.ts";
import { anyTenant, nextPage, page, tenant } from "../admin-schemas.ts";

const DeliveryStateSchema = z.enum(["waiting", "retrying", "delivered", "failed"]);

/** Whether a message waits for its first attempt, failed and is tried again, was delivered, or was given up. */
export type DeliveryState = z.infer<typeof DeliveryStateSchema>;

export const DeliverySchema = z.strictObject({
  ...tenant,
  id: z.string().meta({ description: "`webhook-id` of every attempt" }),
  webhook: z
    .strictObject({
      number: z.int().meta({ description: "its place in `notify.webhooks`, from 0 on" }),
      url: z.string().meta({ description: "the origin alone: a receiver's path may be as good as its secret" }),
    })
    .optional()
    .meta({ description: "absent when it is not configured any more" }),
  type: z.string().meta({ description: "what it tells of, such as `escalation.opened`" }),
  state: DeliveryStateSchema,
  attempts: z.int(),
  createdAt: TimestampSchema,
  nextAttemptAt: TimestampSchema.optional(),
  finishedAt: TimestampSchema.optional().meta({ description: "when it was delivered or given up" }),
  lastError: z.string().optional().meta({ description: "why the last attempt that failed did" }),
});

/** One message to one webhook. */
export type Delivery = z.infer<typeof DeliverySchema>;

/** The routes of what webhooks are told. */
export const webhookRoutes = {
  listDeliveries: {
    method: "GET",
    path: "/admin/v1/webhooks/deliveries",
    roles: readers,
    about: "tenants",
    summary:
      "Lists the messages of a tenant to webhooks, or of all: those that wait, then those that are over, the newest first.",
    query: z.strictObject({ ...anyTenant, state: DeliveryStateSchema.optional(), ...page }),
    response: z.strictObject({ deliveries: z.array(DeliverySchema), ...nextPage }),
  },
  retryDelivery: {
    method: "POST",
    path: "/admin/v1/webhooks/retry",
    roles: admins,
    about: "tenant",
    errors: ["not_found", "conflict", ...changeErrors],
    summary: "Sends a message at once: one that failed, was given up, or was delivered before, with the same id.",
    request: z.strictObject({ ...tenant, id: IdentifierSchema }),
    response: z.strictObject({ id: z.string() }),
  },
} as const satisfies Record<string, AdminRoute>;
