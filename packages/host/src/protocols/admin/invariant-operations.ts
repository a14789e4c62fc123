import { InvariantIdTakenError, InvariantViolatedError, RevisionPassedError } from "../../grants/index.ts";
import { type InvariantRecord, operatorsTenant } from "../../admin-contract/index.ts";
import { conflict, notFound, type AdminOperations, type AdminServices } from "./admin-services.ts";
import { invariantViolated } from "./grant-rules.ts";

type InvariantRoute = "addInvariant" | "listInvariants" | "removeInvariant" | "checkInvariants";

/** Rules that no write of grants may break. */
export function invariantOperations({ stores, clock }: AdminServices): AdminOperations<InvariantRoute> {
  const { invariants } = stores;
  return {
    async addInvariant(invariant, operator) {
      return operator.change(changeOf("invariant.add", invariant, ruleOf(invariant)), async () => {
        const found = await invariants.add(invariant, clock().toISOString()).catch(refuseRule);
        return { invariant, ...found };
      });
    },
    listInvariants: async ({ namespaceId }) => ({ invariants: await invariants.list(namespaceId) }),
    async removeInvariant({ namespaceId, id }, operator) {
      return operator.change(changeOf("invariant.remove", { namespaceId, id }), async () => {
        if (!(await invariants.remove(namespaceId, id))) throw notFound("rule of this id");
        return { removed: id };
      });
    },
    checkInvariants: ({ namespaceId }) => invariants.check(namespaceId, clock().toISOString()),
  };
}

/** What the audit log says of a change of the rules: in that of the tenant, or of the operators for a rule about every tenant. */
function changeOf(
  action: string,
  { namespaceId = operatorsTenant, id }: Pick<InvariantRecord, "namespaceId" | "id">,
  rule = {},
) {
  return { namespaceId, action, metadata: { invariant: id, ...rule } };
}

function ruleOf({ never, only, separate, reportOnly }: InvariantRecord): object {
  return JSON.parse(JSON.stringify({ never, only, separate, reportOnly })) as object;
}

function refuseRule(error: unknown): never {
  if (error instanceof InvariantViolatedError) throw invariantViolated(error.found);
  if (error instanceof InvariantIdTakenError)
    throw conflict("/id: expected an id that no rule of this tenant has, and none of every tenant.");
  if (error instanceof RevisionPassedError)
    throw conflict("The host is changed all the time. Nothing was done; try again.");
  throw error;
}
