import type { Transaction } from "kysely";
import type { Grant } from "turnpike/contracts";
import { findViolationsInSteps, type Violations } from "turnpike/kernel";
import { runInSlices } from "../shared/index.ts";
import type { Schema } from "../storage/index.ts";
import { readInvolved } from "./grant-reads.ts";
import { readInvariants } from "./invariant-rows.ts";

/** Grants would break rules. Nothing was written. */
export class InvariantViolatedError extends Error {
  override readonly name = "InvariantViolatedError";
  readonly found: Violations;

  constructor(found: Violations) {
    super("Grants would break a rule.");
    this.found = found;
  }
}

/**
 * Throws an `InvariantViolatedError` when grants that were issued in this transaction break a rule, as all grants are at its end. Every
 * such transaction locks the row of the revision first, as do those that add a rule: so none of them misses what another one wrote.
 */
export async function requireInvariants(
  transaction: Pick<Transaction<Schema>, "selectFrom">,
  namespaceId: string,
  issued: readonly Grant[],
  at: string,
): Promise<void> {
  if (issued.length === 0) return;
  const rules = (await readInvariants(transaction, namespaceId)).filter(({ reportOnly }) => reportOnly !== true);
  if (rules.length === 0) return;
  const by = new Set(issued.map(({ id }) => id));
  const involved = await readInvolved(transaction, namespaceId, by, {
    at,
    withPeers: rules.some(({ separate }) => separate !== undefined),
  });
  const found = await runInSlices(findViolationsInSteps(involved, rules, { at, by }));
  if (found.violations.length > 0) throw new InvariantViolatedError(found);
}
