import type { Operator } from "../../access/index.ts";
import { operatorsTenant, type AdminOutput } from "../../admin-contract/index.ts";
import type { LossStore } from "../../ledger/index.ts";
import { countLost } from "../../storage/index.ts";
import type { AdminOperations, AdminServices } from "./admin-services.ts";

/** What operators do with the database. */
export function databaseOperations({ stores, settleLosses, clock }: AdminServices): AdminOperations<"acceptLoss"> {
  return {
    async acceptLoss({ revokeCredentials }, operator) {
      const accepted = await acceptLoss({ losses: stores.losses, clock }, operator, revokeCredentials);
      await settleLosses();
      return accepted;
    },
  };
}

/** Accepts every loss of the database. Asked again, it has been done: credentials that were made since stay. */
export async function acceptLoss(
  { losses, clock }: { losses: LossStore; clock(): Date },
  operator: Pick<Operator, "change">,
  isRevoking: boolean,
): Promise<AdminOutput<"acceptLoss">> {
  const open = await losses.listOpen();
  const [noticedAt] = open.map(({ at }) => at).toSorted();
  if (noticedAt === undefined) return { lostRows: 0, tenants: 0, revokedCredentials: 0 };
  const lostRows = open.reduce((sum, { chains }) => sum + countLost(chains), 0);
  const tenants = new Set(open.flatMap(({ chains }) => chains.map(({ namespaceId }) => namespaceId))).size;
  const metadata = { gaps: open.map(({ id }) => id), lostRows, revokeCredentials: isRevoking };
  const change = { namespaceId: operatorsTenant, action: "database.loss_accepted", metadata };
  const { revokedCredentials } = await operator.change(change, () => losses.accept(clock().toISOString(), isRevoking));
  return { noticedAt, lostRows, tenants, revokedCredentials };
}
