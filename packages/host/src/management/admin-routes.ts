import {
  ExportPlaceSchema,
  EscalationRecordSchema,
  EscalationStatusSchema,
  CredentialAccessSchema,
  CredentialRecordSchema,
  type OperatorRole,
} from "./records.ts";
import {
  AuditEventSchema,
  AuditEventTypeSchema,
  AuditOutcomeSchema,
  ConstraintsSchema,
  GrantSchema,
  IdentifierSchema,
  NamespaceUpdateSchema,
  PrincipalRefSchema,
  TimestampSchema,
} from "turnpike/contracts";
import { z } from "zod";
import {
  AccessSchema,
  AuditKeySchema,
  ExplanationSchema,
  GrantEntrySchema,
  GrantStateSchema,
  HeadsVerdictSchema,
  InstantSchema,
  nextPage,
  OperatedTurnSchema,
  page,
  PrincipalTextSchema,
  EscalationAnswerSchema,
  SettingsSchema,
  SignedHeadSchema,
  tenant,
  trailPart,
  TrailVerdictSchema,
  turnName,
  turnPage,
  TurnStatusesSchema,
  TurnWithEventsSchema,
} from "./admin-schemas.ts";
import { AcceptedToolsSchema, McpReviewSchema, McpServerSchema, serverName } from "./mcp-schemas.ts";

/**
 * Which tenants a route is about: the one that `namespaceId` of its input names; that one, or all when none is named; the one
 * of the credential that `id` names; all of them at once; or none.
 */
type RouteSubject = "tenant" | "tenants" | "credential" | "host" | "nothing";

/** Who may use a route. */
export interface RouteAccess {
  roles: readonly OperatorRole[];
  about: RouteSubject;
}

/** One row of the operators' route table. */
export interface AdminRoute extends RouteAccess {
  method: "GET" | "POST";
  /** A segment in braces, such as `{executionId}`, is the value of that name in `query`. */
  path: `/admin/v1/${string}`;
  summary: string;
  /** 201 when something is made; 200 otherwise. */
  status?: 201;
  /** What path and query string may hold; beside a body, what the path may hold. */
  query?: z.ZodObject;
  /** The body of a POST. */
  request?: z.ZodType;
  response: z.ZodType;
}

const admins = ["admin"] as const;
/** Those who read what admins read. */
const readers = ["admin", "auditor"] as const;
const reviewers = ["admin", "reviewer"] as const;
const everybody = ["admin", "reviewer", "auditor"] as const;

/** The route table of the operators, by the name of the operation. */
export const adminRoutes = {
  createCredential: {
    method: "POST",
    path: "/admin/v1/credentials",
    roles: admins,
    about: "tenant",
    status: 201,
    summary: "Makes a credential. Its token is in this answer and nowhere else.",
    request: z.strictObject({ ...tenant, access: CredentialAccessSchema, expiresAt: TimestampSchema.optional() }),
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
    summary:
      "Revokes a credential from the next request on. The last admin of all tenants stays, unless `force` is true.",
    request: z.strictObject({ id: IdentifierSchema, force: z.boolean().optional() }),
    response: z.strictObject({ revoked: IdentifierSchema }),
  },
  rotateCredential: {
    method: "POST",
    path: "/admin/v1/credentials/rotate",
    roles: everybody,
    about: "credential",
    summary:
      "Gives a credential another token, which is in this answer and nowhere else. The one before ends with it. Operators " +
      "who are no admins rotate their own alone.",
    request: z.strictObject({ id: IdentifierSchema }),
    response: z.strictObject({ id: IdentifierSchema, token: z.string() }),
  },
  createGrant: {
    method: "POST",
    path: "/admin/v1/grants",
    roles: admins,
    about: "tenant",
    status: 201,
    summary: "Issues a grant.",
    request: GrantSchema,
    response: GrantSchema,
  },
  deriveGrant: {
    method: "POST",
    path: "/admin/v1/grants/derive",
    roles: admins,
    about: "tenant",
    status: 201,
    summary: "Issues a grant that is no wider than the one it is derived from.",
    request: z.strictObject({
      ...tenant,
      parentId: IdentifierSchema,
      id: IdentifierSchema,
      subject: PrincipalRefSchema,
      capabilities: GrantSchema.shape.capabilities.optional(),
      constraints: ConstraintsSchema.optional(),
    }),
    response: GrantSchema,
  },
  listGrants: {
    method: "GET",
    path: "/admin/v1/grants",
    roles: readers,
    about: "tenant",
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
    roles: admins,
    about: "tenant",
    summary:
      "Revokes a grant from the next call on, and names the grants derived from it, which become invalid with it.",
    request: z.strictObject({ ...tenant, id: IdentifierSchema }),
    response: z.strictObject({
      revoked: IdentifierSchema,
      descendants: z.array(GrantSchema).meta({ description: "the nearest 500" }),
      hasMore: z.boolean().optional().meta({ description: "whether more were derived from it than are named" }),
    }),
  },
  listEscalations: {
    method: "GET",
    path: "/admin/v1/escalations",
    roles: everybody,
    about: "tenant",
    summary: "Lists the escalations of a tenant, newest first.",
    query: z.strictObject({
      ...tenant,
      id: IdentifierSchema.optional(),
      status: EscalationStatusSchema.optional(),
      ...page,
    }),
    response: z.strictObject({ escalations: z.array(EscalationRecordSchema), ...nextPage }),
  },
  showEscalation: {
    method: "GET",
    path: "/admin/v1/escalations/{namespaceId}/{id}",
    roles: everybody,
    about: "tenant",
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
    summary:
      "Says yes: issues exactly the authority that an escalation requests, for its one purpose and until it expires; or " +
      "permits the one act that it is about, once.",
    request: EscalationAnswerSchema.extend({
      expiresAt: TimestampSchema.optional().meta({
        description:
          "when the grant ends, after an hour unless given; or the permit, after `escalations.permitMinutes`",
      }),
      maxUses: z.int().min(1).optional().meta({ description: "of the grant; a permit is for one use" }),
    }),
    response: z.strictObject({
      escalation: EscalationRecordSchema.meta({
        description: "still `pending` when a second person has to approve it, too",
      }),
      grant: GrantSchema.optional().meta({ description: "the one that was issued" }),
    }),
  },
  denyEscalation: {
    method: "POST",
    path: "/admin/v1/escalations/deny",
    roles: reviewers,
    about: "tenant",
    summary: "Closes an escalation with a no and its reason.",
    request: EscalationAnswerSchema.extend({ reason: z.string().min(1).max(4096) }),
    response: z.strictObject({ escalation: EscalationRecordSchema }),
  },
  listAllTurns: {
    method: "GET",
    path: "/admin/v1/turns",
    roles: readers,
    about: "tenants",
    summary: "Lists the turns of all tenants, or of one, newest first.",
    query: z.strictObject({
      namespaceId: tenant.namespaceId.optional(),
      status: TurnStatusesSchema.optional(),
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
    summary: "Reads where a turn is, and what has happened in it so far.",
    query: z.strictObject(turnName),
    response: TurnWithEventsSchema,
  },
  cancelAnyTurn: {
    method: "POST",
    path: "/admin/v1/turns/{namespaceId}/{executionId}/cancel",
    roles: admins,
    about: "tenant",
    summary: "Ends a turn before its next step. One that has ended stays as it is.",
    query: z.strictObject(turnName),
    response: OperatedTurnSchema,
  },
  listAudit: {
    method: "GET",
    path: "/admin/v1/audit",
    roles: readers,
    about: "tenant",
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
      events: z.array(z.strictObject({ strand: z.int(), sequence: z.int(), event: AuditEventSchema })),
      ...nextPage,
    }),
  },
  verifyAudit: {
    method: "GET",
    path: "/admin/v1/audit/verify",
    roles: readers,
    about: "tenant",
    summary: "Checks the chain of a tenant's audit trail, and holds it against the signed checkpoints of this host.",
    query: z.strictObject({ ...tenant, ...trailPart }),
    response: TrailVerdictSchema,
  },
  verifyAuditHeads: {
    method: "POST",
    path: "/admin/v1/audit/verify",
    roles: readers,
    about: "tenant",
    summary: "Says whether signed heads from elsewhere are rows of a tenant's audit trail.",
    request: z.strictObject({ ...tenant, heads: z.array(SignedHeadSchema).min(1).max(500) }),
    response: HeadsVerdictSchema,
  },
  exportAudit: {
    method: "POST",
    path: "/admin/v1/audit/export",
    roles: readers,
    about: "tenant",
    summary: "Reads some lines of an export of a tenant's audit trail; `next` asks for those behind them.",
    request: z.strictObject({ ...tenant, before: TimestampSchema.optional(), place: ExportPlaceSchema.optional() }),
    response: z.strictObject({ lines: z.array(z.string()), next: ExportPlaceSchema.optional() }),
  },
  readCheckpoints: {
    method: "GET",
    path: "/admin/v1/audit/checkpoints",
    roles: readers,
    about: "host",
    summary: "Signs what is not signed yet, and reads the lines of the checkpoint file from a byte on.",
    query: z.strictObject({
      from: z.coerce.number().int().min(0).default(0).meta({ description: "how many bytes are known already" }),
    }),
    response: z.strictObject({ lines: z.array(z.string()), isEnd: z.boolean() }),
  },
  readAuditKey: {
    method: "GET",
    path: "/admin/v1/audit/key",
    roles: readers,
    about: "nothing",
    summary: "Reads the public key of the one that this host signs checkpoints with.",
    query: z.strictObject({}),
    response: AuditKeySchema,
  },
  deleteTenant: {
    method: "POST",
    path: "/admin/v1/tenants/delete",
    roles: admins,
    about: "host",
    summary:
      "Deletes a tenant: its calls are refused at once, and what it has is removed in the background. Asked again, says whether that is finished.",
    request: z.strictObject({
      ...tenant,
      confirm: IdentifierSchema.meta({ description: "the tenant's name once more" }),
    }),
    response: z.strictObject({ namespaceId: IdentifierSchema, isFinished: z.boolean() }),
  },
  explain: {
    method: "POST",
    path: "/admin/v1/explanations",
    roles: readers,
    about: "tenant",
    summary: "Explains how an act would be decided now.",
    request: AccessSchema,
    response: ExplanationSchema,
  },
  explainDenial: {
    method: "POST",
    path: "/admin/v1/explanations/denial",
    roles: readers,
    about: "tenant",
    summary: "Explains the last denial of a trace: what the trail has of it, and how the act would be decided now.",
    request: z.strictObject({ ...tenant, traceId: IdentifierSchema, actor: PrincipalRefSchema.optional() }),
    response: ExplanationSchema,
  },
  readNamespaces: {
    method: "GET",
    path: "/admin/v1/namespaces",
    roles: readers,
    about: "tenant",
    summary: "Reads which tool namespaces are on for an actor.",
    query: z.strictObject({ ...tenant, actor: PrincipalTextSchema }),
    response: SettingsSchema,
  },
  changeNamespaces: {
    method: "POST",
    path: "/admin/v1/namespaces",
    roles: admins,
    about: "tenant",
    summary: "Switches tool namespaces of an actor on and off, unless somebody changed them since `expectedVersion`.",
    request: z.strictObject({
      ...tenant,
      actor: PrincipalRefSchema,
      update: NamespaceUpdateSchema,
      expectedVersion: IdentifierSchema.optional(),
    }),
    response: SettingsSchema,
  },
  listMcpServers: {
    method: "GET",
    path: "/admin/v1/mcp/servers",
    roles: readers,
    about: "host",
    summary: "Lists the configured MCP servers with their tools, and whether each is what was accepted.",
    query: z.strictObject({}),
    response: z.strictObject({ servers: z.array(McpServerSchema) }),
  },
  reviewMcpServer: {
    method: "GET",
    path: "/admin/v1/mcp/servers/{server}/review",
    roles: readers,
    about: "host",
    summary: "Shows the tools of an MCP server that are withdrawn, and how each differs from what was accepted.",
    query: z.strictObject(serverName),
    response: McpReviewSchema,
  },
  acceptMcpTools: {
    method: "POST",
    path: "/admin/v1/mcp/servers/{server}/accept",
    roles: admins,
    about: "host",
    summary: "Accepts tools of an MCP server with exactly the definitions that were shown; all of them, or none.",
    query: z.strictObject(serverName),
    request: AcceptedToolsSchema,
    response: z.strictObject({ ...serverName, accepted: z.array(z.string()) }),
  },
} as const satisfies Record<string, AdminRoute>;

/** The operation that a route carries out. */
export type AdminRouteName = keyof typeof adminRoutes;

type Body<Route> = Route extends { request: infer Schema extends z.ZodType } ? z.output<Schema> : unknown;
type Query<Route> = Route extends { query: infer Schema extends z.ZodType } ? z.output<Schema> : unknown;

/** The input of an operation: its parsed body, path and query. */
export type AdminInput<Name extends AdminRouteName> = Body<(typeof adminRoutes)[Name]> &
  Query<(typeof adminRoutes)[Name]>;

/** The output of an operation. */
export type AdminOutput<Name extends AdminRouteName> = z.infer<(typeof adminRoutes)[Name]["response"]>;
