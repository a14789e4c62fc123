import { z } from "zod";
import { boundedArray, strictObject } from "../internal/index.ts";
import { ScopeSchema } from "./grant.ts";
import { ActionSchema, IdentifierSchema, PathSchema } from "./scalars.ts";

export const ReachEntrySchema = strictObject({
  namespace: IdentifierSchema,
  path: PathSchema,
  actions: boundedArray(ActionSchema, { max: 4096 }),
  scope: ScopeSchema,
});

/** One place where the context may act right now, and how. */
export type ReachEntry = z.infer<typeof ReachEntrySchema>;

export const ReachResultSchema = z.discriminatedUnion("status", [
  strictObject({ status: z.literal("computed"), reach: boundedArray(ReachEntrySchema, { max: 100_000 }) }),
  strictObject({
    status: z.literal("unavailable"),
    reasonCode: z.enum(["usage_store_unavailable", "authority_unavailable"]),
  }),
]);

/** All places where the context may act, or why they are unknown. It is never only some of the places. */
export type ReachResult = z.infer<typeof ReachResultSchema>;
