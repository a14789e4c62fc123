import { ExportPlaceSchema } from "../records.ts";
import {
  AuditEventSchema,
  AuditEventTypeSchema,
  AuditOutcomeSchema,
  IdentifierSchema,
  TimestampSchema,
} from "turnpike/contracts";
import {
  anyTenant,
  AuditKeySchema,
  HeadsVerdictSchema,
  InstantSchema,
  nextPage,
  page,
  PrincipalTextSchema,
  ResourceTextSchema,
  SignedHeadSchema,
  tenant,
  auditPart,
  AuditVerdictSchema,
  wholeNumber,
} from "../admin-schemas.ts";
import { z } from "zod";
import { type AdminRoute, readers } from "../admin-route.ts";

/** What was allowed, or came to its end, says no reason. */
const hasNoReason: ReadonlySet<string> = new Set(["allowed", "succeeded"]);

/** The routes of the audit log. */
export const auditRoutes = {
  listAudit: {
    method: "GET",
    path: "/admin/v1/audit",
    roles: readers,
    about: "tenants",
    isReport: ["resource", "tool", "grant", "reason", "text"],
    summary: "Reads the audit log of a tenant, newest first; or those of all tenants, one after the other.",
    query: z
      .strictObject({
        ...anyTenant,
        from: InstantSchema.optional(),
        until: InstantSchema.optional(),
        actor: PrincipalTextSchema.optional(),
        type: AuditEventTypeSchema.optional(),
        outcome: AuditOutcomeSchema.optional(),
        traceId: IdentifierSchema.optional(),
        resource: ResourceTextSchema.optional().meta({
          description: "only events about this place, such as `files/notes`, and about what is below it",
        }),
        tool: IdentifierSchema.optional().meta({ description: "only events about this tool" }),
        grant: IdentifierSchema.optional().meta({
          description: "only events that name this grant: its changes, its uses, and changes of grants derived from it",
        }),
        reason: IdentifierSchema.optional().meta({ description: "only events with this reason, an error code" }),
        text: z.string().regex(/\S/, "expected more than white space").max(200).optional().meta({
          description:
            "only events that have this text in them as people see them, in letters of either case; a page searches 2,000 events",
        }),
        ...page,
      })
      .refine(({ reason, outcome }) => reason === undefined || outcome === undefined || !hasNoReason.has(outcome), {
        path: ["reason"],
        message: "expected it or this outcome, not both: only what was refused or failed has a reason",
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
    isReport: true,
    errors: ["not_found"],
    summary: "Checks the chain of a tenant's audit log, and holds it against the signed checkpoints of this host.",
    query: z.strictObject({ ...tenant, ...auditPart }),
    response: AuditVerdictSchema,
  },
  verifyAuditHeads: {
    method: "POST",
    path: "/admin/v1/audit/verify",
    roles: readers,
    about: "tenant",
    isReport: true,
    summary: "Says whether signed heads from elsewhere are rows of a tenant's audit log.",
    request: z.strictObject({ ...tenant, heads: z.array(SignedHeadSchema).min(1).max(500) }),
    response: HeadsVerdictSchema,
  },
  exportAudit: {
    method: "POST",
    path: "/admin/v1/audit/export",
    roles: readers,
    about: "tenant",
    isReport: true,
    errors: ["not_found", "conflict"],
    summary: "Reads some lines of an export of a tenant's audit log; `next` asks for those behind them.",
    request: z.strictObject({ ...tenant, before: TimestampSchema.optional(), place: ExportPlaceSchema.optional() }),
    response: z.strictObject({ lines: z.array(z.string()), next: ExportPlaceSchema.optional() }),
  },
  readCheckpoints: {
    method: "GET",
    path: "/admin/v1/audit/checkpoints",
    roles: readers,
    about: "host",
    errors: ["audit_unavailable"],
    summary: "Signs what is not signed yet, and reads the lines of the checkpoint file from a byte on.",
    query: z.strictObject({
      from: wholeNumber(0).prefault(0).meta({ description: "how many bytes are known already" }),
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
} as const satisfies Record<string, AdminRoute>;
