import { describeIssues, IdentifierSchema, PrincipalRefSchema, PurposeSchema } from "turnpike/contracts";
import { z } from "zod";
import { AdminClientError, callAdmin } from "./admin-call.ts";
import { OperatorRoleSchema } from "./records.ts";

export const whoamiPath = "/whoami";

const credentialId = IdentifierSchema.meta({ description: "of the credential, which is no secret" });

export const WhoamiSchema = z.discriminatedUnion("kind", [
  z.object({
    kind: z.literal("caller"),
    credentialId,
    actor: PrincipalRefSchema,
    owner: PrincipalRefSchema,
    authority: PrincipalRefSchema.optional().meta({ description: "whose grants count unless `x-authority` says" }),
    tenant: IdentifierSchema,
    purposes: z.array(PurposeSchema).meta({ description: "the first one counts unless `x-purpose` says" }),
  }),
  z.object({
    kind: z.literal("operator"),
    credentialId,
    actor: PrincipalRefSchema,
    role: OperatorRoleSchema,
    tenant: IdentifierSchema.optional().meta({
      description: "the one tenant that they are an operator of; of all without it",
    }),
  }),
]);

/** Who the bearer of a token is to a host. */
export type Whoami = z.infer<typeof WhoamiSchema>;

/** Asks a host who the bearer of a token is. Throws an `AdminClientError`. */
export async function askWhoami(url: string, token: string): Promise<Whoami> {
  const headers = { authorization: `Bearer ${token}` };
  const answer = await callAdmin({ method: "GET", path: whoamiPath, hasBody: false }, {}, { url, headers });
  const checked = WhoamiSchema.safeParse(answer);
  if (checked.success) return checked.data;
  const message = `The host's answer is not understood; is it of another version? ${describeIssues(checked.error.issues)}`;
  throw new AdminClientError("invalid_response", message);
}
