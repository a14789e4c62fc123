import type { Transaction } from "kysely";
import { columnText } from "../shared/index.ts";
import { type InvariantRecord, InvariantSchema } from "../admin-contract/index.ts";
import type { Schema } from "../storage/index.ts";

/** Instead of a tenant: the rules about the grants of every tenant. */
const everyTenant = "";

/** Under which tenant a rule is stored. */
export function tenantColumn(namespaceId: string | undefined): string {
  return namespaceId === undefined ? everyTenant : columnText(namespaceId);
}

/** The rules that hold in a tenant, those of every tenant included; all rules of all tenants when none is named. */
export async function readInvariants(
  db: Pick<Transaction<Schema>, "selectFrom">,
  namespaceId: string | undefined,
): Promise<InvariantRecord[]> {
  let rows = db.selectFrom("invariants").selectAll();
  if (namespaceId !== undefined) rows = rows.where("namespace_id", "in", [everyTenant, columnText(namespaceId)]);
  return (await rows.execute()).map(recordOf).toSorted((one, other) => (keyOf(one) < keyOf(other) ? -1 : 1));
}

/** Rules of every tenant come first. */
function keyOf({ namespaceId = everyTenant, id }: InvariantRecord): string {
  return JSON.stringify([namespaceId, id]);
}

/** INVARIANT: a rule that cannot be read throws, so that nothing is written which it might refuse. */
function recordOf({ content }: Schema["invariants"]): InvariantRecord {
  return InvariantSchema.parse(JSON.parse(content));
}
