import { accessOperations } from "./access-operations.ts";
import { connectionOperations } from "./connection-operations.ts";
import { contentOperations } from "./content-operations.ts";
import { grantOperations } from "./grant-operations.ts";
import { ledgerOperations } from "./ledger-operations.ts";
import type { Operations } from "./operation.ts";
import { personOperations } from "./person-operations.ts";
import { escalationOperations } from "./escalation-operations.ts";
import { turnOperations } from "./turn-operations.ts";

export { backgroundOperations } from "./background-operations.ts";
export { openAllStores, seed, type Operation, type Operations, type Run, type Seed } from "./operation.ts";

/** Operations of every method of every store that asks the database, in groups. */
export const storeOperations: Readonly<Record<string, Operations>> = {
  access: { ...accessOperations, ...grantOperations },
  people: personOperations,
  connections: connectionOperations,
  ledger: ledgerOperations,
  turns: turnOperations,
  escalations: escalationOperations,
  contents: contentOperations,
};
