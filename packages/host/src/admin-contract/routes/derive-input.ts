import { ConstraintsSchema, GrantSchema, IdentifierSchema, PrincipalRefSchema } from "turnpike/contracts";

/** What is asked to be derived from a grant; what it leaves out is the parent's. */
export const deriveInput = {
  parentId: IdentifierSchema,
  id: IdentifierSchema,
  subject: PrincipalRefSchema,
  capabilities: GrantSchema.shape.capabilities.optional(),
  constraints: ConstraintsSchema.optional(),
};
