import { CredentialAccessSchema, CredentialRecordSchema } from "../records.ts";
import { IdentifierSchema, TimestampSchema } from "turnpike/contracts";
import { nextPage, page, tenant } from "../admin-schemas.ts";
import { z } from "zod";
import { type AdminRoute, admins, readers, everybody, changeErrors } from "../admin-route.ts";

/** A session lasts 12 hours and a token may last for ever: whoever makes the one with the other shows that they have a token. */
const currentToken = z.string().min(1).max(512).optional();

/** The routes of credentials. */
export const credentialRoutes = {
  createCredential: {
    method: "POST",
    path: "/admin/v1/credentials",
    roles: admins,
    about: "tenant",
    errors: ["conflict", ...changeErrors],
    status: 201,
    summary: "Makes a credential. Its token is in this answer and nowhere else.",
    request: z.strictObject({
      ...tenant,
      access: CredentialAccessSchema,
      expiresAt: TimestampSchema.optional(),
      currentToken: currentToken.meta({
        description: "the sender's own token; needed for an operator's credential when a session admits the sender",
      }),
    }),
    response: z.strictObject({ id: IdentifierSchema, token: z.string() }),
  },
  listCredentials: {
    method: "GET",
    path: "/admin/v1/credentials",
    roles: readers,
    about: "tenants",
    summary: "Lists credentials, without their secrets.",
    query: z.strictObject({ namespaceId: IdentifierSchema.optional(), ...page }),
    response: z.strictObject({ credentials: z.array(CredentialRecordSchema), ...nextPage }),
  },
  revokeCredential: {
    method: "POST",
    path: "/admin/v1/credentials/revoke",
    roles: admins,
    about: "credential",
    errors: ["not_found", "conflict", ...changeErrors],
    summary:
      "Revokes a credential from the next request on. The last admin of all tenants stays, unless `force` is true. What was " +
      "approved with it stays, unless `andAnswers` is true.",
    request: z.strictObject({
      id: IdentifierSchema,
      force: z.boolean().optional(),
      andAnswers: z
        .boolean()
        .optional()
        .meta({
          description:
            "whether what was approved with it ends too: permits that were not used, grants that an approval issued, and " +
            "approvals that wait for a second one. A credential that was revoked before can be sent again for this",
        }),
    }),
    response: z.strictObject({
      revoked: IdentifierSchema,
      answers: z
        .strictObject({ permits: z.int(), grants: z.int(), approvals: z.int() })
        .optional()
        .meta({ description: "how many of each ended, when `andAnswers` was true" }),
    }),
  },
  rotateCredential: {
    method: "POST",
    path: "/admin/v1/credentials/rotate",
    roles: everybody,
    about: "credential",
    errors: ["not_found", "conflict", ...changeErrors],
    summary:
      "Gives a credential another token, which is in this answer and nowhere else. The one before ends with it. Operators " +
      "who are no admins rotate their own alone.",
    request: z.strictObject({
      id: IdentifierSchema,
      currentToken: currentToken.meta({
        description: "the sender's own token; needed when a session admits the sender",
      }),
    }),
    response: z.strictObject({ id: IdentifierSchema, token: z.string() }),
  },
} as const satisfies Record<string, AdminRoute>;
