import { IdentifierSchema, PrincipalRefSchema, TimestampSchema } from "turnpike/contracts";
import { z } from "zod";
import { type AdminRoute, allRoles, changeErrors } from "../admin-route.ts";
import { tenant } from "../admin-schemas.ts";
import { OperatorRoleSchema } from "../records.ts";

export const SessionSchema = z.strictObject({
  operator: z.strictObject({
    id: IdentifierSchema.meta({ description: "of the credential" }),
    actor: PrincipalRefSchema,
    role: OperatorRoleSchema,
    tenant: tenant.namespaceId
      .optional()
      .meta({ description: "the one tenant that they are an operator of; of all without it" }),
  }),
  expiresAt: TimestampSchema.optional().meta({ description: "when the session ends; absent for a token" }),
  host: z.strictObject({ version: z.string(), isDemo: z.boolean() }),
});

/** The routes of sessions: a page holds no token, and stays signed in by its session. */
export const sessionRoutes = {
  createSession: {
    method: "POST",
    path: "/admin/v1/sessions",
    roles: allRoles,
    about: "nothing",
    errors: ["overloaded", ...changeErrors],
    isOpen: true,
    status: 201,
    summary:
      "Begins a session of 12 hours for an operator's token or a one-time code. It has two halves, and one alone is nothing: a " +
      "cookie, and a secret in this answer.",
    request: z
      .strictObject({
        token: z.string().min(1).max(512).optional().meta({ description: "an operator's; or `code`" }),
        code: z.string().min(1).max(512).optional().meta({ description: "from createCode; or `token`" }),
      })
      .refine(({ token, code }) => (token === undefined) !== (code === undefined), {
        path: ["token"],
        message: "expected this or `code`, and not both",
      }),
    response: SessionSchema.extend({
      pageSecret: z.string().meta({ description: "goes into the header `x-turnpike-console`, with every request" }),
    }),
  },
  readSession: {
    method: "GET",
    path: "/admin/v1/session",
    roles: allRoles,
    about: "nothing",
    summary: "Says who the sender is as an operator, and what host this is.",
    query: z.strictObject({}),
    response: SessionSchema,
  },
  endSession: {
    method: "POST",
    path: "/admin/v1/sessions/end",
    roles: allRoles,
    about: "nothing",
    errors: [...changeErrors],
    summary: "Ends the session of the sender. A sender with a token has none, and is answered the same.",
    request: z.strictObject({}),
    response: z.strictObject({}),
  },
  createCode: {
    method: "POST",
    path: "/admin/v1/codes",
    roles: allRoles,
    about: "nothing",
    errors: [...changeErrors],
    status: 201,
    summary:
      "Makes a code that begins one session for the sender, within 10 minutes. A session makes none: send a token.",
    request: z.strictObject({}),
    response: z.strictObject({
      code: z.string(),
      url: z.string().meta({ description: "opens the console with the code" }),
      expiresAt: TimestampSchema,
    }),
  },
} as const satisfies Record<string, AdminRoute>;
