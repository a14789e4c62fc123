import { z } from "zod";
import { PrincipalRefSchema } from "./principal.ts";
import { IdentifierSchema, PathSchema } from "./scalars.ts";

export const ResourceRefSchema = z.strictObject({
  namespace: IdentifierSchema,
  owner: PrincipalRefSchema.optional(),
  path: PathSchema,
});

/** A place; without an owner it is the access context's owner's. */
export type ResourceRef = z.infer<typeof ResourceRefSchema>;
