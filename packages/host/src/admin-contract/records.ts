import {
  ActSchema,
  AuthorityRequestSchema,
  AuthorizationRequestSchema,
  IdentifierSchema,
  PrincipalRefSchema,
  PurposeSchema,
  RequestPartySchema,
  TimestampSchema,
} from "turnpike/contracts";
import { z } from "zod";

/** The tenant of the operators' own credentials; nothing else lives there. */
export const operatorsTenant = "operators";

export const OperatorRoleSchema = z.enum(["admin", "reviewer", "auditor"]);

/** What an operator may do: everything, answer escalations, or read. */
export type OperatorRole = z.infer<typeof OperatorRoleSchema>;

/** A name of a client certificate: its SHA-256 fingerprint, or one of its URIs or DNS names. */
const CertificateNameSchema = z
  .string()
  .max(2048)
  .regex(/^(sha256:[0-9a-f]{64}|uri:[!-~]+|dns:[0-9a-z._-]+)$/, {
    error: "expected a name such as uri:spiffe://acme/assistant, dns:assistant.acme.example or sha256:<64 hex digits>",
  });

export const CredentialAccessSchema = z
  .strictObject({
    actor: PrincipalRefSchema,
    owner: PrincipalRefSchema,
    authority: PrincipalRefSchema.optional(),
    purposes: z.array(PurposeSchema).min(1).max(64),
    senders: z.array(PrincipalRefSchema).min(1).max(256).optional(),
    evaluates: z.boolean().optional().meta({
      description: "whether it may ask, through AuthZEN, about every subject of its tenant",
    }),
    certificate: CertificateNameSchema.optional().meta({
      description: "the client certificate without which it cannot be used, by a name of it",
    }),
    admin: z.boolean().optional().meta({ description: "whether it is an operator's" }),
    role: OperatorRoleSchema.optional().meta({ description: "of an operator: what they may do; admin unless given" }),
    signedIn: z.boolean().optional().meta({
      description: "whether it is of a user who signs in with an identity provider: it has no token",
    }),
    tenant: IdentifierSchema.optional().meta({
      description: "of an operator: the one tenant that they may do it in; all tenants unless given",
    }),
  })
  // A role or a tenant that counts for nothing would be taken for a limit.
  .refine(({ admin, role }) => admin === true || role === undefined, {
    path: ["role"],
    error: "expected only together with `admin`: true",
  })
  .refine(({ admin, tenant }) => admin === true || tenant === undefined, {
    path: ["tenant"],
    error: "expected only together with `admin`: true",
  })
  // Operators ask about others by their role, which an attribute beside it would seem to widen.
  .refine(({ admin, evaluates }) => admin !== true || evaluates === undefined, {
    path: ["evaluates"],
    error: "expected only without `admin`: true",
  })
  // An operator of this tenant could make operators, which is for admins of all tenants.
  .refine(({ tenant }) => tenant !== operatorsTenant, {
    path: ["tenant"],
    error: "expected a tenant other than the operators' own",
  });

/**
 * What the bearer of a credential may do. The first purpose is the default. `senders` are the principals whose messages may
 * start turns; without it, any principal's may. With `evaluates` it is an enforcement point's, which asks about others. With
 * `certificate` it is used over connections that show that certificate, with its token or without. With `admin` it is an
 * operator's, who has a role in all tenants or in one.
 */
export type CredentialAccess = z.infer<typeof CredentialAccessSchema>;

export const CredentialRecordSchema = z.strictObject({
  id: IdentifierSchema,
  namespaceId: IdentifierSchema,
  access: CredentialAccessSchema,
  createdAt: TimestampSchema,
  expiresAt: TimestampSchema.optional(),
  revokedAt: TimestampSchema.optional(),
  lastUsedAt: TimestampSchema.optional().meta({ description: "to the minute; absent when it was never used" }),
});

/** What an operator may know of a credential. */
export type CredentialRecord = z.infer<typeof CredentialRecordSchema>;

const RequestPartiesSchema = z.union([RequestPartySchema, z.array(RequestPartySchema).min(2)]);

export const EscalationStatusSchema = z.enum(["pending", "approved", "denied", "expired", "withdrawn"]);

const ApprovalRequestSchema = z.strictObject({
  act: ActSchema,
  /** What the act needs, and the grant that covers it once it is approved. */
  request: AuthorizationRequestSchema,
  grantId: IdentifierSchema,
});

const GivenApprovalSchema = z.strictObject({
  by: PrincipalRefSchema,
  /** The credential that it was given with, also when that was through a session. Older answers have none. */
  credential: IdentifierSchema.optional(),
  at: TimestampSchema,
  /** The terms that they named. Where two people approve, the narrower ones hold. */
  expiresAt: TimestampSchema.optional(),
  maxUses: z.int().min(1).optional(),
});

/** An approval that no longer counts, and why. */
const DroppedApprovalSchema = GivenApprovalSchema.extend({
  why: z.enum(["credential_unknown", "credential_revoked", "credential_expired", "not_a_reviewer", "takes_part"]),
});

export type DropReason = z.infer<typeof DroppedApprovalSchema>["why"];

const WithdrawalSchema = z.strictObject({
  by: PrincipalRefSchema,
  credential: IdentifierSchema,
  at: TimestampSchema,
  reason: z.string().optional(),
});

const ClosedReasonSchema = z.enum([
  "credential_revoked",
  "credential_expired",
  "grant_revoked",
  "grant_expired",
  "turn_cancelled",
  "turn_ended",
]);

/** Why an escalation was closed: its credential, its grant or its turn has ended, so that an answer would have no use. */
export type ClosedReason = z.infer<typeof ClosedReasonSchema>;

const ClosedSchema = z.strictObject({
  reason: ClosedReasonSchema,
  at: TimestampSchema,
  /** The credential that is gone. */
  credential: IdentifierSchema.optional(),
  /** The grant that is gone: the one that carries the act, or one that it was derived from. */
  grantId: IdentifierSchema.optional(),
});

export const EscalationRecordSchema = z.strictObject({
  id: IdentifierSchema,
  namespaceId: IdentifierSchema,
  status: EscalationStatusSchema,
  /** The hash of the request. An answer has to name it, so that a reviewer approves only what they have seen. */
  ask: IdentifierSchema,
  requester: PrincipalRefSchema,
  reviewer: PrincipalRefSchema,
  authority: PrincipalRefSchema,
  purpose: PurposeSchema,
  reason: z.string(),
  /** Of an escalation that asks for authority: what an approval grants. */
  requestedAuthority: AuthorityRequestSchema.optional(),
  /** Of an escalation that asks for approval of one act: all of it. `ask` is its request hash. */
  approval: ApprovalRequestSchema.optional(),
  traceId: IdentifierSchema,
  executionId: IdentifierSchema.optional(),
  requestedAt: TimestampSchema,
  expiresAt: TimestampSchema,
  /** The operator who tried the act as the requester; a list when there were several. None of them answers. */
  triedBy: RequestPartiesSchema.optional(),
  /** The enforcement point that asked about it; a list when there were several. None of them answers. */
  askedBy: RequestPartiesSchema.optional(),
  /** The approvals so far. With the two-person rule one of them is not enough. */
  approvals: z.array(GivenApprovalSchema).optional(),
  /** Approvals that did not count any more when the next one came, or that ended with their credential. */
  dropped: z.array(DroppedApprovalSchema).optional(),
  decidedAt: TimestampSchema.optional(),
  decidedBy: IdentifierSchema.optional(),
  /** Of an approval of one act: until when it can be used. */
  permitExpiresAt: TimestampSchema.optional(),
  answer: z.string().optional(),
  grantId: IdentifierSchema.optional(),
  /** Of an approval that was withdrawn: by whom, and when. */
  withdrawal: WithdrawalSchema.optional(),
  /** Of one that expired because what it rested on is gone, and not for lack of an answer: what that was, and when. */
  closed: ClosedSchema.optional(),
});

/** An escalation and its state. */
export type EscalationRecord = z.infer<typeof EscalationRecordSchema>;

/** An escalation that was closed because its answer would be of no use, without what it asked for. */
export type ClosedEscalation = Pick<EscalationRecord, "namespaceId" | "id" | "ask" | "requester" | "status" | "closed">;

export const HashSchema = z.string().regex(/^[0-9a-f]{64}$/);

export const StrandHeadSchema = z.strictObject({
  strand: z.int().min(0),
  sequence: z.int().min(1),
  hash: HashSchema,
});

/** A row of a strand; 0 is the place before the first. */
export const StrandPlaceSchema = StrandHeadSchema.extend({ sequence: z.int().min(0) });

const maxStrands = 10_001;

export const ExportPlaceSchema = z.strictObject({
  at: TimestampSchema,
  before: TimestampSchema.optional(),
  /** The rows after which the export begins, one for each strand that has rows to export. */
  from: z.array(StrandPlaceSchema).max(maxStrands),
  /** The rows with which the export ends, in the order of `from`. */
  ends: z.array(StrandHeadSchema).max(maxStrands),
  /** How many of the strands are exported. */
  done: z.int().min(0),
  /** The last exported row of the strand that is being exported. */
  last: StrandHeadSchema.omit({ strand: true }).optional(),
});

/** How far an audit log is exported. */
export type ExportPlace = z.infer<typeof ExportPlaceSchema>;
