import {
  AuditEventSchema,
  AuditEventTypeSchema,
  AuditOutcomeSchema,
  AuthorizationRequestSchema,
  CapabilitySchema,
  ConstraintsSchema,
  GrantSchema,
  IdentifierSchema,
  NamespaceUpdateSchema,
  parseInstant,
  PrincipalRefSchema,
  PurposeSchema,
  TimestampSchema,
} from "turnpike/contracts";
import { z } from "zod";
import { QuestionSchema, QuestionStatusSchema } from "../escalations/escalation-store.ts";
import { CredentialAccessSchema, CredentialRecordSchema, parsePrincipal } from "../stores/credential-store.ts";

/** One row of the operators' route table. */
export interface AdminRoute {
  method: "GET" | "POST";
  path: `/admin/v1/${string}`;
  summary: string;
  /** 201 when something is made; 200 otherwise. */
  status?: 201;
  /** What the query string of a GET may hold. */
  query?: z.ZodObject;
  /** The body of a POST. */
  request?: z.ZodType;
  response: z.ZodType;
}

/** A principal as `kind:id`, the way it is written in query strings. */
const PrincipalTextSchema = z
  .string()
  .transform((text, { addIssue }) => {
    const principal = parsePrincipal(text);
    if (principal === undefined) addIssue({ code: "custom", message: "expected kind:id, such as human:alice" });
    return principal ?? z.NEVER;
  })
  .meta({ description: "`kind:id`, such as `human:alice`" });

/** An instant in a query, as the UTC text that stored ones are compared with. */
const InstantSchema = TimestampSchema.transform((text) => {
  const instant = Math.max(firstInstant, Math.min(parseInstant(text) ?? 0, lastInstant));
  return new Date(instant).toISOString();
});

/** Years of four digits, which sort as text. */
const [firstInstant, lastInstant] = [Date.parse("0000-01-01T00:00:00Z"), Date.parse("9999-12-31T23:59:59.999Z")];

const LimitSchema = z.coerce.number().int().min(1).max(500).default(50).meta({ description: "how many at most" });
const CursorSchema = z.string().min(1).max(512).meta({ description: "`cursor` of the page before" });
const tenant = { namespaceId: IdentifierSchema.meta({ description: "the tenant" }) };
const page = { limit: LimitSchema, cursor: CursorSchema.optional() };
const nextPage = { cursor: z.string().optional() };

const GrantStateSchema = z.enum(["live", "future", "expired", "revoked", "fallen"]);

const GrantEntrySchema = z.strictObject({
  grant: GrantSchema,
  state: GrantStateSchema,
  used: z.int().optional(),
});

/** A grant with what has become of it. */
export type GrantEntry = z.infer<typeof GrantEntrySchema>;

const QuestionAnswerSchema = z.strictObject({ ...tenant, id: IdentifierSchema, ask: IdentifierSchema });

const SettingsSchema = z.strictObject({
  ...tenant,
  actor: PrincipalRefSchema,
  enabled: z.array(IdentifierSchema),
  known: z.array(IdentifierSchema),
  version: IdentifierSchema,
});

/** Which tool namespaces are on for an actor, which ones there are, and a name for this state of it. */
export type Settings = z.infer<typeof SettingsSchema>;

const ConsideredGrantSchema = z.strictObject({
  grant: GrantSchema,
  failed: z.string().optional(),
  rule: z.string().optional(),
});

const ExplanationSchema = z.strictObject({
  decision: z.strictObject({
    allowed: z.boolean(),
    reasonCode: z.string(),
    matchedGrantId: IdentifierSchema.optional(),
  }),
  access: z.strictObject({
    ...tenant,
    actor: PrincipalRefSchema,
    authority: PrincipalRefSchema,
    owner: PrincipalRefSchema,
    purpose: PurposeSchema,
  }),
  request: AuthorizationRequestSchema.optional(),
  policy: z.enum(["not-asked", "kept", "denied", "unavailable"]),
  grants: z.array(ConsideredGrantSchema),
  /** The denial on the trail that is explained, when one was asked for. */
  recorded: AuditEventSchema.optional(),
  /** The namespace of the tool that was called, when it is one of this host. */
  toolNamespace: IdentifierSchema.optional(),
  /** The grant that would allow exactly this and nothing more. */
  suggestion: GrantSchema.omit({ id: true, issuedAt: true }).optional(),
});

/** A decision, what it rests on, and what would change it. */
export type AdminExplanation = z.infer<typeof ExplanationSchema>;

const AccessSchema = z.strictObject({
  ...tenant,
  actor: PrincipalRefSchema,
  authority: PrincipalRefSchema.optional(),
  owner: PrincipalRefSchema.optional(),
  purpose: PurposeSchema,
  ...AuthorizationRequestSchema.shape,
});

/** Everything operators may do, by the name of the operation. */
export const adminRoutes = {
  createCredential: {
    method: "POST",
    path: "/admin/v1/credentials",
    status: 201,
    summary: "Makes a credential. Its token is in this answer and nowhere else.",
    request: z.strictObject({ ...tenant, access: CredentialAccessSchema, expiresAt: TimestampSchema.optional() }),
    response: z.strictObject({ id: IdentifierSchema, token: z.string() }),
  },
  listCredentials: {
    method: "GET",
    path: "/admin/v1/credentials",
    summary: "Lists credentials, without their secrets.",
    query: z.strictObject({ namespaceId: IdentifierSchema.optional(), ...page }),
    response: z.strictObject({ credentials: z.array(CredentialRecordSchema), ...nextPage }),
  },
  revokeCredential: {
    method: "POST",
    path: "/admin/v1/credentials/revoke",
    summary: "Revokes a credential from the next request on.",
    request: z.strictObject({ id: IdentifierSchema }),
    response: z.strictObject({ revoked: IdentifierSchema }),
  },
  createGrant: {
    method: "POST",
    path: "/admin/v1/grants",
    status: 201,
    summary: "Issues a grant.",
    request: GrantSchema,
    response: GrantSchema,
  },
  deriveGrant: {
    method: "POST",
    path: "/admin/v1/grants/derive",
    status: 201,
    summary: "Issues a grant that is no wider than the one it is derived from.",
    request: z.strictObject({
      ...tenant,
      parentId: IdentifierSchema,
      id: IdentifierSchema,
      subject: PrincipalRefSchema,
      capabilities: z.array(CapabilitySchema).min(1).max(64).optional(),
      constraints: ConstraintsSchema.optional(),
    }),
    response: GrantSchema,
  },
  listGrants: {
    method: "GET",
    path: "/admin/v1/grants",
    summary: "Lists the grants of a tenant.",
    query: z.strictObject({
      ...tenant,
      subject: PrincipalTextSchema.optional(),
      issuer: PrincipalTextSchema.optional(),
      state: GrantStateSchema.optional(),
      resource: IdentifierSchema.optional().meta({ description: "only grants over this resource namespace" }),
      ...page,
    }),
    response: z.strictObject({ grants: z.array(GrantEntrySchema), ...nextPage }),
  },
  revokeGrant: {
    method: "POST",
    path: "/admin/v1/grants/revoke",
    summary: "Revokes a grant from the next call on, and names the derived grants that fall with it.",
    request: z.strictObject({ ...tenant, id: IdentifierSchema }),
    response: z.strictObject({ revoked: IdentifierSchema, descendants: z.array(GrantSchema) }),
  },
  listEscalations: {
    method: "GET",
    path: "/admin/v1/escalations",
    summary: "Lists the questions that turns ended with, newest first.",
    query: z.strictObject({
      ...tenant,
      id: IdentifierSchema.optional(),
      status: QuestionStatusSchema.optional(),
      ...page,
    }),
    response: z.strictObject({ escalations: z.array(QuestionSchema), ...nextPage }),
  },
  approveEscalation: {
    method: "POST",
    path: "/admin/v1/escalations/approve",
    summary: "Issues exactly what a question asks for, once, for its one purpose and until it expires.",
    request: QuestionAnswerSchema.extend({ expiresAt: TimestampSchema, maxUses: z.int().min(1).optional() }),
    response: z.strictObject({ escalation: QuestionSchema, grant: GrantSchema }),
  },
  denyEscalation: {
    method: "POST",
    path: "/admin/v1/escalations/deny",
    summary: "Closes a question with a no and its reason.",
    request: QuestionAnswerSchema.extend({ reason: z.string().min(1).max(4096) }),
    response: z.strictObject({ escalation: QuestionSchema }),
  },
  listAudit: {
    method: "GET",
    path: "/admin/v1/audit",
    summary: "Reads the audit trail of a tenant, newest first.",
    query: z.strictObject({
      ...tenant,
      from: InstantSchema.optional(),
      until: InstantSchema.optional(),
      actor: PrincipalTextSchema.optional(),
      type: AuditEventTypeSchema.optional(),
      outcome: AuditOutcomeSchema.optional(),
      traceId: IdentifierSchema.optional(),
      ...page,
    }),
    response: z.strictObject({
      events: z.array(z.strictObject({ sequence: z.int(), event: AuditEventSchema })),
      ...nextPage,
    }),
  },
  verifyAudit: {
    method: "GET",
    path: "/admin/v1/audit/verify",
    summary: "Checks the chain of a tenant's audit trail and names the first row that was changed or removed.",
    query: z.strictObject({ ...tenant }),
    response: z.strictObject({ isWhole: z.boolean(), firstBroken: z.int().optional() }),
  },
  explain: {
    method: "POST",
    path: "/admin/v1/explanations",
    summary: "Explains how an act would be decided now.",
    request: AccessSchema,
    response: ExplanationSchema,
  },
  explainDenial: {
    method: "POST",
    path: "/admin/v1/explanations/denial",
    summary: "Explains the last denial of a trace: what the trail has of it, and how the act would be decided now.",
    request: z.strictObject({ ...tenant, traceId: IdentifierSchema, actor: PrincipalRefSchema.optional() }),
    response: ExplanationSchema,
  },
  readNamespaces: {
    method: "GET",
    path: "/admin/v1/namespaces",
    summary: "Reads which tool namespaces are on for an actor.",
    query: z.strictObject({ ...tenant, actor: PrincipalTextSchema }),
    response: SettingsSchema,
  },
  changeNamespaces: {
    method: "POST",
    path: "/admin/v1/namespaces",
    summary: "Switches tool namespaces of an actor on and off, unless somebody changed them since `expectedVersion`.",
    request: z.strictObject({
      ...tenant,
      actor: PrincipalRefSchema,
      update: NamespaceUpdateSchema,
      expectedVersion: IdentifierSchema.optional(),
    }),
    response: SettingsSchema,
  },
} as const satisfies Record<string, AdminRoute>;

/** The operation that a route carries out. */
export type AdminRouteName = keyof typeof adminRoutes;

/** What an operation is handed: its parsed body or query. */
export type AdminInput<Name extends AdminRouteName> = (typeof adminRoutes)[Name] extends {
  request: infer Body extends z.ZodType;
}
  ? z.output<Body>
  : (typeof adminRoutes)[Name] extends { query: infer Query extends z.ZodType }
    ? z.output<Query>
    : never;

/** What an operation answers. */
export type AdminOutput<Name extends AdminRouteName> = z.infer<(typeof adminRoutes)[Name]["response"]>;
