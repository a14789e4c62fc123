import type { Grant } from "turnpike/contracts";
import { everReachInSteps } from "turnpike/kernel";
import { runInSlices } from "../../shared/index.ts";
import { approvedGrant } from "../../escalations/index.ts";
import type { AdminOperations, AdminServices } from "./admin-services.ts";

/** No escalation asks for a grant that ends later. */
const never = "9999-12-31T23:59:59Z";
/** How many escalations are read at once, and of how many that are open. */
const [readAtOnce, mostRead] = [100, 10_000];

/** Who could ever do what. */
export function everOperations({ stores, clock }: AdminServices): AdminOperations<"readEverReach"> {
  /** What an approval of the escalations that are open would issue. */
  const requestedOf = async (namespaceId: string, now: string): Promise<Grant[]> => {
    const requested: Grant[] = [];
    let before: string | undefined;
    for (let read = 0; read < mostRead; read += readAtOnce) {
      const page = await stores.escalations.list(namespaceId, { status: "pending", now, before, limit: readAtOnce });
      for (const escalation of page) {
        const approved = approvedGrant(escalation, { at: now, expiresAt: never });
        if (approved.ok) requested.push(approved.grant);
      }
      before = page.at(-1)?.id;
      if (page.length < readAtOnce) break;
    }
    return requested;
  };
  return {
    async readEverReach({ namespaceId, actor, resource, action }) {
      const at = clock().toISOString();
      const grants = await stores.grants.readUnended(namespaceId, at);
      const requested = await requestedOf(namespaceId, at);
      const question = { at, actor, place: resource, action, requested };
      return { at, ...(await runInSlices(everReachInSteps(grants, question))) };
    },
  };
}
