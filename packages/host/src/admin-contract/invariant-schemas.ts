import {
  ActionSchema,
  IdentifierSchema,
  parsePrincipal,
  PurposeSchema,
  ResourceRefSchema,
  TimestampSchema,
} from "turnpike/contracts";
import { z } from "zod";
import { parseResourceText } from "../display/index.ts";
import { AccessSchema } from "./admin-schemas.ts";

const WhoSchema = z
  .string()
  .max(512, { abort: true })
  .refine((text) => parsePrincipal(text) !== undefined, "expected kind:id, such as agent:helper, or kind:*")
  .meta({ description: "`kind:id`, or `kind:*` for every principal of a kind" });

/** Longer than the longest path. */
const PlaceSchema = z
  .string()
  .max(32_768, { abort: true })
  .refine((text) => !text.endsWith("/") && ResourceRefSchema.safeParse(parseResourceText(text)).success, {
    message: "expected a place such as files/notes",
  })
  .meta({ description: "a namespace and a path, such as `files/notes`: there and below, of any owner" });

const acts = {
  action: ActionSchema.refine((action) => action !== "*", "expected one action; leave it out for any").optional(),
  resource: PlaceSchema,
};

const UnlessSchema = z
  .strictObject({
    approval: z.literal("each").optional().meta({ description: "each act needs a person's approval" }),
    purpose: PurposeSchema.optional(),
    authority: WhoSchema.optional().meta({ description: "on whose grants, as `kind:id` or `kind:*`" }),
  })
  .refine((unless) => Object.values(unless).some((value) => value !== undefined), "expected at least one condition");

/** What a rule says: one of three forms. */
const forms = {
  never: z
    .strictObject({ subject: WhoSchema.optional(), ...acts, unless: UnlessSchema.optional() })
    .optional()
    .meta({
      description: "no principal, or not this one, may do it; acts for which all of `unless` holds do not count",
    }),
  only: z
    .strictObject({ subjects: z.array(WhoSchema).min(1).max(256), ...acts })
    .optional()
    .meta({ description: "these principals alone may do it" }),
  separate: z
    .strictObject({ acts: z.array(z.strictObject(acts)).length(2) })
    .optional()
    .meta({ description: "no principal may do both at one instant" }),
};

/** A rule about grants. */
export const InvariantSchema = z
  .strictObject({
    id: IdentifierSchema,
    namespaceId: IdentifierSchema.optional().meta({ description: "the tenant; every tenant without it" }),
    ...forms,
    reportOnly: z.boolean().optional().meta({ description: "it is checked on request, and refuses nothing" }),
  })
  .refine(({ never, only, separate }) => [never, only, separate].filter(Boolean).length === 1, {
    path: ["never"],
    message: "expected this, only or separate, and not several of them",
  });

/** A rule about the grants of a tenant, or of every tenant. */
export type InvariantRecord = z.infer<typeof InvariantSchema>;

/** A rule that grants break. */
export const ViolationSchema = z.strictObject({
  invariant: IdentifierSchema.meta({ description: "the id of the rule" }),
  grantIds: z.array(IdentifierSchema).meta({ description: "the grants that carry the requests" }),
  counterexample: z
    .array(AccessSchema.required({ authority: true, owner: true }).extend({ at: TimestampSchema }))
    .meta({
      description: "a request that breaks it, or two that do together, each as `/admin/v1/explanations` takes it",
    }),
});

/** What grants break. */
export const violationsShape = {
  violations: z.array(ViolationSchema),
  more: z.literal(true).optional().meta({ description: "there are more than these" }),
};
