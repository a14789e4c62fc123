import { CredentialAccessSchema, CredentialRecordSchema } from "../records.ts";
import {
  IdentifierSchema,
  PrincipalRefSchema,
  RequestPartySchema,
  TimestampSchema,
  TurnStatusSchema,
} from "turnpike/contracts";
import { nextPage, page, tenant } from "../admin-schemas.ts";
import { z } from "zod";
import { type AdminRoute, admins, readers, allRoles, changeErrors } from "../admin-route.ts";

/** A session lasts 12 hours and a token may last for ever: an operator who makes a token from within a session shows that they have a token. */
const currentToken = z.string().min(1).max(512).optional();

export const RemainingSchema = z.discriminatedUnion("kind", [
  z.strictObject({
    kind: z.literal("session"),
    id: IdentifierSchema,
    createdAt: TimestampSchema,
    expiresAt: TimestampSchema,
  }),
  z.strictObject({
    kind: z.literal("turn"),
    ...tenant,
    executionId: IdentifierSchema,
    actor: PrincipalRefSchema,
    status: TurnStatusSchema,
    startedAt: TimestampSchema,
    triedBy: RequestPartySchema.optional().meta({ description: "the operator who tries it as its actor" }),
  }),
  z.strictObject({
    kind: z.literal("approval"),
    ...tenant,
    escalationId: IdentifierSchema,
    expiresAt: TimestampSchema,
  }),
  z.strictObject({
    kind: z.literal("permit"),
    ...tenant,
    escalationId: IdentifierSchema,
    expiresAt: TimestampSchema,
  }),
  z.strictObject({
    kind: z.literal("grant"),
    ...tenant,
    grantId: IdentifierSchema,
    subject: PrincipalRefSchema,
    expiresAt: TimestampSchema.optional(),
  }),
]);

/** Something that a credential left behind, which continues or counts without another request. */
export type Remaining = z.infer<typeof RemainingSchema>;

const EndedSchema = z.strictObject({
  sessions: z.int(),
  turns: z.int(),
  approvals: z.int(),
  permits: z.int(),
  grants: z.int(),
});

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
  showCredential: {
    method: "GET",
    path: "/admin/v1/credentials/{id}",
    roles: readers,
    about: "credential",
    errors: ["not_found"],
    summary:
      "Reads a credential, when it was last used, and what it left behind, also after it was revoked: sessions and turns that go " +
      "on, approvals that wait for a second one, permits that were not used, and grants that were made with it.",
    query: z.strictObject({ id: IdentifierSchema, ...page }),
    response: z.strictObject({
      credential: CredentialRecordSchema,
      remaining: z.array(RemainingSchema).meta({
        description:
          "what it left behind, one kind after the other. A page may have fewer than fit, and others behind it",
      }),
      ...nextPage,
    }),
  },
  revokeCredential: {
    method: "POST",
    path: "/admin/v1/credentials/revoke",
    roles: admins,
    about: "credential",
    errors: ["not_found", "conflict", ...changeErrors],
    summary:
      "Revokes a credential from the next request on. The last admin of all tenants stays, unless `force` is true. What was " +
      "approved with it stays, unless `andAnswers` is true; with `andEverything` all that it left behind ends.",
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
      andEverything: z
        .boolean()
        .optional()
        .meta({
          description:
            "whether everything that it left behind ends too: its sessions and turns, what was approved with it, and grants that " +
            "were made with it. When this fails halfway, the credential is revoked: send it again, which ends the rest",
        }),
    }),
    response: z.strictObject({
      revoked: IdentifierSchema,
      ended: EndedSchema.optional().meta({
        description: "how many of each ended, when `andEverything` was true. A turn ends before its next step",
      }),
      answers: z
        .strictObject({ permits: z.int(), grants: z.int(), approvals: z.int() })
        .optional()
        .meta({ description: "how many of each ended, when `andAnswers` was true" }),
    }),
  },
  rotateCredential: {
    method: "POST",
    path: "/admin/v1/credentials/rotate",
    roles: allRoles,
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
