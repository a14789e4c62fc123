import {
  ActionSchema,
  BudgetSchema,
  IdentifierSchema,
  PathSchema,
  PrincipalRefSchema,
  PurposeSchema,
  ScopeSchema,
  TimestampSchema,
} from "turnpike/contracts";
import { z } from "zod";

/** Some values, or all but some. */
function among<Value extends z.ZodType>(value: Value) {
  return z.union([z.array(value), z.strictObject({ not: z.array(value) })]);
}

const place = { path: PathSchema, scope: ScopeSchema };
const TermsSchema = z.strictObject({
  approval: z.literal("each").optional(),
  maxUses: z.int().optional(),
  budgets: z.array(BudgetSchema).optional(),
});

/** Requests that grants decide alike. */
export const RegionSchema = z.strictObject({
  subject: PrincipalRefSchema,
  authority: PrincipalRefSchema,
  owner: among(PrincipalRefSchema),
  namespace: IdentifierSchema,
  ...place,
  except: z.array(z.strictObject(place)).optional(),
  actions: among(ActionSchema),
  purposes: among(PurposeSchema),
  from: TimestampSchema.optional(),
  until: TimestampSchema.optional(),
  terms: z.array(TermsSchema),
  by: z.array(IdentifierSchema).meta({ description: "the grants that carry some of these requests" }),
});

/** What a change of grants does for all requests. */
export const RegionChangesSchema = z
  .strictObject({
    at: TimestampSchema.meta({ description: "requests at this instant or later are compared" }),
    opened: z.array(RegionSchema),
    closed: z.array(RegionSchema),
    changed: z.array(
      RegionSchema.extend({
        was: z.array(TermsSchema),
        wider: z.literal(true).optional().meta({ description: "an approval falls away" }),
      }),
    ),
    more: z.literal(true).optional().meta({ description: "there are more regions than these" }),
  })
  .meta({ description: "what the change opens and closes for all requests, and what it carries on other terms" });
