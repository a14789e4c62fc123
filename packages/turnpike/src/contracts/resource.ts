import type { z } from "zod";
import { strictObject } from "../internal/index.ts";
import { PrincipalRefSchema } from "./principal.ts";
import { IdentifierSchema, PathSchema } from "./scalars.ts";

export const ResourceRefSchema = strictObject({
  namespace: IdentifierSchema,
  owner: PrincipalRefSchema.optional(),
  path: PathSchema,
});

/** A place; without an owner it is the access context's owner's. */
export type ResourceRef = z.infer<typeof ResourceRefSchema>;
