import { StrandHeadSchema } from "./records.ts";
import { parseResourceText } from "../display/index.ts";
import {
  AuditEventSchema,
  AuthorizationRequestSchema,
  GrantSchema,
  IdentifierSchema,
  parseInstant,
  parsePrincipal,
  PrincipalRefSchema,
  PurposeSchema,
  RequestPartySchema,
  ResourceRefSchema,
  TimestampSchema,
  TurnEventSchema,
  TurnStateSchema,
  TurnStatusSchema,
} from "turnpike/contracts";
import { z } from "zod";

/** A principal as `kind:id` in a query string. */
export const PrincipalTextSchema = z
  .string()
  .transform((text, { addIssue }) => {
    const principal = parsePrincipal(text);
    if (principal === undefined) addIssue({ code: "custom", message: "expected kind:id, such as human:alice" });
    return principal ?? z.NEVER;
  })
  .meta({ description: "`kind:id`, such as `human:alice`" });

/** A resource as its namespace and its path in a query string. */
export const ResourceTextSchema = z
  .string()
  .transform((text, { addIssue }) => {
    const { data } = ResourceRefSchema.safeParse(parseResourceText(text));
    if (data === undefined) addIssue({ code: "custom", message: "expected a place such as files/notes/todo.md" });
    return data ?? z.NEVER;
  })
  .meta({ description: "its namespace and its path, such as `files/notes/todo.md`" });

/** An instant in a query, as UTC text that can be compared with stored instants. */
export const InstantSchema = TimestampSchema.transform((text) => {
  const instant = Math.max(firstInstant, Math.min(parseInstant(text) ?? 0, lastInstant));
  return new Date(instant).toISOString();
});

/** Years of four digits sort correctly as text. */
const [firstInstant, lastInstant] = [Date.parse("0000-01-01T00:00:00Z"), Date.parse("9999-12-31T23:59:59.999Z")];

/**
 * A whole number in a query or a body. In a query it is digits alone: `1e2`, `+5`, `0x10` and ` 5` are mistakes, as they are in
 * every other place where a number is read.
 */
export function wholeNumber(least: number, most = Number.MAX_SAFE_INTEGER) {
  const read = (value: unknown): unknown =>
    typeof value === "string" && /^(0|[1-9]\d{0,15})$/.test(value) ? Number(value) : value;
  return z.preprocess(read, z.int().min(least).max(most));
}

const LimitSchema = wholeNumber(1, 500).prefault(50).meta({ description: "how many at most" });
const CursorSchema = z.string().min(1).max(2048).meta({ description: "`cursor` of the page before" });
export const tenant = { namespaceId: IdentifierSchema.meta({ description: "the tenant" }) };
export const anyTenant = {
  namespaceId: IdentifierSchema.optional().meta({
    description: "the tenant; all of them, one after the other, unless given",
  }),
};
export const page = { limit: LimitSchema, cursor: CursorSchema.optional() };
export const nextPage = {
  cursor: z
    .string()
    .optional()
    .meta({
      description:
        "where the next page begins; absent at the end of the list. With a filter a page may be short, or empty, before " +
        "that, because it reads so many and no more",
    }),
};

export const GrantStateSchema = z.enum(["live", "future", "expired", "revoked", "exhausted", "invalid", "unknown"]);

export const GrantEntrySchema = z.strictObject({
  grant: GrantSchema,
  state: GrantStateSchema,
  /** The rule of delegation that the chain of an invalid grant breaks. */
  rule: z.string().optional(),
  used: z.int().optional(),
});

/** A grant with its current state. */
export type GrantEntry = z.infer<typeof GrantEntrySchema>;

export const EscalationAnswerSchema = z.strictObject({ ...tenant, id: IdentifierSchema, ask: IdentifierSchema });

export const SettingsSchema = z.strictObject({
  ...tenant,
  actor: PrincipalRefSchema,
  enabled: z.array(IdentifierSchema),
  known: z.array(IdentifierSchema),
  version: IdentifierSchema,
});

/** The tool namespaces that are enabled for an actor, those that are known, and the version of these settings. */
export type Settings = z.infer<typeof SettingsSchema>;

const ConsideredGrantSchema = z.strictObject({
  grant: GrantSchema,
  failed: z.string().optional(),
  rule: z.string().optional(),
});

export const ExplanationSchema = z.strictObject({
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
  /** The recorded denial that is explained, if the request named one. */
  recorded: AuditEventSchema.optional(),
  /** The namespace of the tool that was called, when it is one of this host. */
  toolNamespace: IdentifierSchema.optional(),
  /** The grant that would allow exactly this and nothing more. */
  suggestion: GrantSchema.omit({ id: true, issuedAt: true }).optional(),
  /** Why there is no such grant to suggest although one is lacking, and what has to happen first. */
  obstacle: z.string().optional(),
});

/** A decision, its reasons, and what would change it. */
export type AdminExplanation = z.infer<typeof ExplanationSchema>;

export const AccessSchema = z.strictObject({
  ...tenant,
  actor: PrincipalRefSchema,
  authority: PrincipalRefSchema.optional(),
  owner: PrincipalRefSchema.optional(),
  purpose: PurposeSchema,
  ...AuthorizationRequestSchema.shape,
});

const HeadSchema = z.strictObject({ strand: z.int(), sequence: z.int(), hash: z.string() });

const BreakSchema = z.strictObject({
  strand: z.int().optional(),
  sequence: z.int().optional().meta({ description: "the first row that is known to be changed or removed" }),
  why: z.string(),
});

/** The result of comparing rows with signed heads. */
const verdict = { isWhole: z.boolean(), broken: BreakSchema.optional() };

export const HeadsVerdictSchema = z.strictObject(verdict);

/** Which part of an audit log to verify. */
export const auditPart = {
  rows: wholeNumber(1, 100_000)
    .optional()
    .meta({ description: "how many rows to verify at most; all of them, however long that takes, unless given" }),
  cursor: z.string().min(1).max(512).optional().meta({ description: "`cursor` of the part before" }),
};

export const AuditVerdictSchema = z.strictObject({
  isWhole: z.boolean().meta({ description: "false while there is a `cursor`: what comes behind it is not known yet" }),
  broken: verdict.broken,
  rows: z.int().meta({ description: "how many rows of this part are what they have to be, from its first on" }),
  heads: z.array(HeadSchema).meta({ description: "the heads that this part reached" }),
  cursor: z.string().optional().meta({ description: "where the next part begins; absent when this was the last" }),
  exported: z
    .array(HeadSchema.extend({ until: TimestampSchema }))
    .optional()
    .meta({ description: "the last row of each strand that was exported and removed, and when that was" }),
  checkpoints: z.int().meta({ description: "how many signed heads of the tenant the rows were held against" }),
  restores: z
    .array(z.strictObject({ at: TimestampSchema, checkpoint: z.int().min(1) }))
    .optional()
    .meta({ description: "when a backup was restored, by the signed line that says so: rows from after it are gone" }),
  gaps: z
    .array(
      z.strictObject({
        at: TimestampSchema,
        checkpoint: z.int().min(1),
        strand: z.int().min(0),
        from: z.int().min(1),
        until: z.int().min(1),
        acceptedAt: TimestampSchema.optional(),
      }),
    )
    .optional()
    .meta({
      description:
        "rows that the database lost after they were acknowledged, by the signed line that says so, and since when an operator accepts it",
    }),
});

export const SignedHeadSchema = StrandHeadSchema.extend({
  checkpoint: z
    .strictObject({ sequence: z.int().min(1), at: TimestampSchema })
    .optional()
    .meta({ description: "the line that it is from, when it is from a file of checkpoints" }),
});

export const AuditKeySchema = z.strictObject({
  id: z.string(),
  publicKey: z.string().meta({ description: "Ed25519, PEM" }),
});

export const OperatedTurnSchema = z.strictObject({
  ...tenant,
  actor: PrincipalRefSchema.meta({ description: "who started it" }),
  isAsync: z.boolean().meta({ description: "whether it goes on without its caller" }),
  hostId: z.int().optional().meta({ description: "the host that runs it" }),
  triedBy: RequestPartySchema.optional().meta({ description: "the operator who tries it as the actor who started it" }),
  state: TurnStateSchema,
});

/** A turn as operators see it. */
export type OperatedTurn = z.infer<typeof OperatedTurnSchema>;

export const TurnWithEventsSchema = OperatedTurnSchema.extend({
  events: z.array(TurnEventSchema).meta({ description: "what has happened in it so far" }),
});

/** One state, or several with commas between them. */
export const TurnStatusesSchema = z
  .string()
  .transform((text, { addIssue }) => {
    const statuses = z.array(TurnStatusSchema).safeParse(text.split(","));
    const message = `expected ${TurnStatusSchema.options.join(", ")}, or several with commas`;
    if (!statuses.success) addIssue({ code: "custom", message });
    return statuses.data ?? z.NEVER;
  })
  .meta({ description: "only turns in this state, or in one of several with commas between them" });

/** The newest turns first; `before` goes on behind a page. */
export const turnPage = {
  limit: wholeNumber(1, 200).prefault(50).meta({ description: "how many at most" }),
  before: IdentifierSchema.optional().meta({ description: "`next` of the page before" }),
};

/** Which turn: ids belong to the actor who chose them. */
export const turnName = {
  ...tenant,
  executionId: IdentifierSchema,
  actor: PrincipalTextSchema.optional().meta({
    description: "whose, as `kind:id`; the newest under this id unless given",
  }),
};
